// The person who signed in, and the way to sign out.
import { useQuery } from "@tanstack/react-query";
import { client, ok } from "../api/client";
import { Button } from "../components/Button";
import { visible } from "../text/visible";
import styles from "./Navigation.module.css";

export function Account() {
  const { data: sender } = useQuery({
    queryKey: ["identity"],
    queryFn: () => ok(client.GET("/api/v1/identity")),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (sender?.proof !== "session") return null;
  return (
    <div className={styles.account}>
      <span title={visible(sender.name)}>{visible(sender.name)}</span>
      <Button small kind="quiet" onPress={() => void signOut()}>
        Sign out
      </Button>
    </div>
  );
}

async function signOut(): Promise<void> {
  await ok(client.DELETE("/api/v1/identity/session"));
  location.assign("/sign-in");
}
