// The page on which a person signs in: with an invitation, or at the provider of the team.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, client, ok } from "../../api/client";
import { Button } from "../../components/Button";
import { ErrorNotice, Loading } from "../../components/States";
import { visible } from "../../text/visible";
import styles from "./SignIn.module.css";

const INVITATION = /^#invitation=([\w-]+)$/;
const PROBLEM = /^#problem=(\w+)$/;

/** The reasons that the server states in the address after a failed sign-in. */
const PROBLEMS: Record<string, string> = {
  expired: "The sign-in took too long, or this browser blocks cookies.",
  refused: "The provider did not confirm who you are.",
  unverified: "The provider has not verified your e-mail address.",
  unknown: "Nobody has invited your e-mail address. Ask an administrator for an invitation.",
  unavailable: "The provider cannot be reached. Try again later.",
};

export function SignInScreen() {
  const [invitation] = useState(() => INVITATION.exec(location.hash)?.[1] ?? null);
  const [problem] = useState(() => PROBLEM.exec(location.hash)?.[1] ?? null);
  useEffect(() => {
    // The secret must not stay in the history of the browser.
    if (location.hash) history.replaceState(null, "", location.pathname);
  }, []);
  return (
    <main className={styles.page}>
      <h1 className={styles.title}>
        <img src="/icon.svg" alt="" width="24" height="24" />
        Treadle
      </h1>
      {problem !== null && (
        <p role="alert" className={styles.problem}>
          {PROBLEMS[problem] ?? PROBLEMS.refused}
        </p>
      )}
      {invitation === null ? <Provider /> : <Invitation secret={invitation} />}
    </main>
  );
}

function Invitation({ secret }: { secret: string }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  async function accept() {
    setBusy(true);
    setError(null);
    try {
      await ok(client.POST("/api/v1/identity/invitations", { body: { invitation: secret } }));
      location.replace("/");
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }
  const isUsed = error instanceof ApiError && error.status === 404;
  return (
    <>
      <p>You are invited to use Treadle. The link works once.</p>
      {error !== null && <ErrorNotice what="The invitation was not accepted" error={error} />}
      {!isUsed && (
        <Button kind="primary" isDisabled={isBusy} onPress={() => void accept()}>
          Accept the invitation
        </Button>
      )}
      {isUsed && <Provider />}
    </>
  );
}

function Provider() {
  const found = useQuery({
    queryKey: ["sign-in"],
    queryFn: () => ok(client.GET("/api/v1/identity/provider")),
  });
  if (found.isPending) return <Loading what="the ways to sign in" />;
  if (!found.data) {
    return (
      <ErrorNotice
        what="The ways to sign in could not be read"
        error={found.error}
        onRetry={() => void found.refetch()}
      />
    );
  }
  if (found.data.label === null) {
    return <p>To sign in, open the link of your invitation. An administrator creates it.</p>;
  }
  return (
    <a className={styles.provider} href="/sign-in/oidc">
      Sign in with {visible(found.data.label)}
    </a>
  );
}
