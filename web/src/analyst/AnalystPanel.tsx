// The analyst beside a screen.
export function AnalystPanel() {
  return <h2>Analyst</h2>;
}
