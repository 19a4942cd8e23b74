// How the page is built: into the package that serves it, with a place for the nonce of its answer.
import optimizeLocales from "@react-aria/optimize-locales-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.TREADLE_URL ?? "http://127.0.0.1:7070";

export default defineConfig({
  plugins: [react(), { ...optimizeLocales.vite({ locales: ["en-US"] }), enforce: "pre" }],
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    outDir: "../src/treadle/server/page",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    // Few files: each costs the page and the server a millisecond or two before a screen is seen.
    cssCodeSplit: false,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "common", minShareCount: 5 }] } },
    },
  },
  server: {
    proxy: {
      // The Host stays that of the page, with which the server compares the Origin.
      "/api": { target: server, ws: true, changeOrigin: false },
    },
  },
  test: {
    environment: "happy-dom",
    pool: "vmThreads",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing/setup.ts"],
    restoreMocks: true,
  },
});
