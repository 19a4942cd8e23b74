// The person who signed in, the choice of a project, and the way to sign out.
import { useQuery } from "@tanstack/react-query";
import { chooseProject, chosenProject } from "../api/access";
import { ApiError, client, ok } from "../api/client";
import { Button } from "../components/Button";
import { Select } from "../components/Select";
import { visible } from "../text/visible";
import styles from "./Navigation.module.css";

export function Account() {
  const { data: sender } = useQuery({
    queryKey: ["identity"],
    queryFn: readSender,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!sender) return null;
  const signedIn = sender.proof === "session";
  if (!signedIn && sender.projects.length < 2) return null;
  return (
    <div className={styles.account}>
      {sender.projects.length > 1 && (
        <Select
          label="Project"
          hideLabel
          value={sender.project}
          options={sender.projects.map((name) => ({ id: name, name }))}
          onChange={openProject}
        />
      )}
      {signedIn && <span title={visible(sender.name)}>{visible(sender.name)}</span>}
      {signedIn && (
        <Button small kind="quiet" onPress={() => void signOut()}>
          Sign out
        </Button>
      )}
    </div>
  );
}

async function readSender() {
  try {
    return await ok(client.GET("/api/v1/identity"));
  } catch (error) {
    // The person may have lost the role in the chosen project, or the project was removed.
    if (chosenProject() !== null && error instanceof ApiError && error.status === 403) {
      openProject(null);
    }
    throw error;
  }
}

/** Nothing of the page belongs to another project, so the page starts again. */
function openProject(name: string | null): void {
  chooseProject(name);
  location.assign("/");
}

async function signOut(): Promise<void> {
  await ok(client.DELETE("/api/v1/identity/session"));
  location.assign("/sign-in");
}
