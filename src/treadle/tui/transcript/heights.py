"""The heights of all items of a transcript, with fast sums and searches (a Fenwick tree)."""


class Heights:
    """A list of heights in lines. Each operation takes O(log n) steps."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add an item at the end."""
        self._heights.append(height)
        position = len(self._heights)
        step, below = 1, position & -position
        total = height
        while step < below:
            total += self._tree[position - step]
            step <<= 1
        self._tree.append(total)

    def __setitem__(self, index: int, height: int) -> None:
        change = height - self._heights[index]
        self._heights[index] = height
        position = index + 1
        while change and position < len(self._tree):
            self._tree[position] += change
            position += position & -position

    def clear(self) -> None:
        """Remove all items."""
        self._heights.clear()
        self._tree = [0]

    def before(self, index: int) -> int:
        """The number of lines of all items in front of the item at `index`."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    @property
    def total(self) -> int:
        """The number of lines of all items."""
        return self.before(len(self._heights))

    def find(self, line: int) -> tuple[int, int]:
        """The index of the item that contains `line`, and the line inside that item.

        A line after the end belongs to the last item. Raises IndexError if there are no items.
        """
        if not self._heights:
            raise IndexError("there are no items")
        position, rest = 0, max(0, line)
        step = 1 << len(self._heights).bit_length()
        while step:
            following = position + step
            if following < len(self._tree) and self._tree[following] <= rest:
                position, rest = following, rest - self._tree[following]
            step >>= 1
        if position >= len(self._heights):
            return len(self._heights) - 1, rest + self._heights[-1]
        return position, rest
