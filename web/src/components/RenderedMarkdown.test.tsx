import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { RenderedMarkdown } from "./RenderedMarkdown";

function cells(): string[][] {
  return screen
    .getAllByRole("row")
    .map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.innerHTML));
}

describe("Markdown of a model", () => {
  it("has its tables, with what stands in their cells", () => {
    render(
      <RenderedMarkdown
        text={"Costs:\n| model | cost |\n|:--|--:|\n| `a|b` | **$1** |\n| x\\|y |\n\nThe end."}
      />,
    );
    expect(cells()).toEqual([
      ["model", "cost"],
      ["<code>a|b</code>", "<strong>$1</strong>"],
      ["x|y", ""],
    ]);
    expect(screen.getByText("Costs:").tagName).toBe("P");
    expect(screen.getByText("The end.").tagName).toBe("P");
  });

  it("keeps bars and rules that are no table", () => {
    render(<RenderedMarkdown text={"a | b\nc | d\n\n`x\\|y` and e\\|f\n\n| a |\n|---|---|"} />);
    expect(screen.queryByRole("table")).toBeNull();
    expect(screen.getByText("x\\|y").tagName).toBe("CODE");
    expect(screen.getByText(/and e\|f/u)).toBeTruthy();
  });

  it("loads no picture, runs no markup and leads nowhere else", () => {
    const { container } = render(
      <RenderedMarkdown
        text={
          "![x](http://evil.example/p.png) [there](https://evil.example) " +
          "[run](javascript:alert(1)) [other](//evil.example) <b onclick='x'>bold</b>"
        }
      />,
    );
    expect(container.querySelectorAll("img, a, b, script").length).toBe(0);
    expect(container.textContent).toContain("<b onclick='x'>bold</b>");
    expect(container.textContent).toContain("https://evil.example");
  });
});
