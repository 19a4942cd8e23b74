// What every screen can rely on: live events, the mirrored state, shortcuts, notices.
import { MirrorProvider } from "../mirror/MirrorProvider";
import { Shell } from "./Shell";

export function Root() {
  return (
    <MirrorProvider>
      <Shell />
    </MirrorProvider>
  );
}
