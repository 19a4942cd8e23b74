// Starts the page.
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { takeKey } from "./api/access";
import { newQueryClient } from "./api/queries";
import { NoticesProvider } from "./components/Notices";
import { LiveProvider } from "./live/LiveProvider";
import { claimPageId } from "./mirror/pageId";
import { newRouter } from "./router";
import { ShortcutProvider } from "./shortcuts/ShortcutProvider";
import "./styles/tokens.css";
import "./styles/base.css";
import { keepTheme } from "./styles/theme";

async function start(): Promise<void> {
  keepTheme();
  takeKey();
  addEventListener("hashchange", () => {
    if (takeKey()) location.reload(); // a link that was opened in this tab
  });
  await claimPageId();
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no #root");
  if (location.pathname === "/sign-in") {
    const { SignInScreen } = await import("./screens/signIn/SignInScreen");
    createRoot(root).render(
      <StrictMode>
        <QueryClientProvider client={newQueryClient()}>
          <SignInScreen />
        </QueryClientProvider>
      </StrictMode>,
    );
    return;
  }
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={newQueryClient()}>
        <LiveProvider>
          <NoticesProvider>
            <ShortcutProvider>
              <RouterProvider router={newRouter()} />
            </ShortcutProvider>
          </NoticesProvider>
        </LiveProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}

void start();
