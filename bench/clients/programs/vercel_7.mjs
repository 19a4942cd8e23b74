// The program of Vercel's AI SDK with version 7, which needs Node 22.

import "./vercel.mjs";
