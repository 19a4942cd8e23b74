import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { MessageText } from "./MessageText";
import { isMarkdown } from "./markdown";

test("Markdown is rendered without markup and pictures, and can be read as recorded", async () => {
  const text = "# Orders\n\n**18** is <b>open</b> ![x](https://evil.example/x.png)";
  const { container } = render(<MessageText text={text} />);
  expect(await screen.findByRole("heading", { name: "Orders" }, { timeout: 20_000 })).toBeTruthy();
  expect(container.querySelector("b, img")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "As recorded" }));
  expect(container.textContent).toContain(text);
});

test("a long text is folded until a person opens it", async () => {
  const text = `${"word ".repeat(1_000)}the end`;
  const { container } = render(<MessageText text={text} />);
  expect(container.textContent).not.toContain("the end");
  await userEvent.click(screen.getByRole("button", { name: "Show all 5,007 characters" }));
  expect(container.textContent).toContain("the end");
});

test.each(["5 * 3 * 2", "a_b_c", "Hello\nWorld", "{a: [1](2"])("%s is no Markdown", (text) => {
  expect(isMarkdown(text)).toBe(false);
});
