"""The actions of the terminal, each declared once.

Key bindings, slash commands, the command palette, the help screen and `docs/terminal.md` are all
built from this registry. The action NAME runs the method `action_NAME` of a widget, a screen or the
application. A test checks that every action has such a method, and that every such method belongs
to an action.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Where(StrEnum):
    """The part of the terminal in which the key of an action works."""

    ANYWHERE = "anywhere"
    CONVERSATION = "in the conversation"
    PROMPT = "in the prompt"
    QUEUE = "in the queue"
    TRANSCRIPT = "in the transcript"
    LIST = "in a list"
    PROPOSAL = "in a proposal"
    DECISION = "in a proposal or the list of proposals"
    ANSWER = "in a question for approval"
    PERMISSIONS = "in the list of permissions"
    CHECKS = "in the list of checks"
    CHECK = "in the run of a check"
    CONSENT = "in a question about a program"
    SEARCH = "in the search"
    TRACE = "in a trace"
    FIND = "in the find line"
    OVERLAY = "in an overlay"
    QUESTION = "in a question"
    SESSIONS = "in the list of sessions"
    REWIND = "in the rewind"
    CONTEXT_PLAN = "in the context plan"
    MODELS = "in the list of models"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person can do in the terminal.

    `keys` are the default keys, in Textual's notation. `vim` and `emacs` are the keys in these key
    sets. If they are None, the default keys apply there too. `slash` is the name of the slash
    command, and `argument` names the text that may follow this command. An action that has neither
    keys nor a slash command can be run from the command palette only.
    """

    name: str
    title: str
    help: str
    where: Where
    keys: tuple[str, ...] = ()
    vim: tuple[str, ...] | None = None
    emacs: tuple[str, ...] | None = None
    slash: str | None = None
    argument: str | None = None
    in_palette: bool = True


ACTIONS: tuple[Action, ...] = (
    Action("help", "Keys and commands", "List every key of the present screen.", Where.ANYWHERE,
           keys=("f1", "question_mark"), slash="help"),
    Action("palette", "Command palette", "Find and run any action by its name.", Where.ANYWHERE,
           keys=("ctrl+p",), emacs=("alt+x",), in_palette=False),
    Action("theme", "Theme", "Choose the colours: dark, light, high-contrast or ansi.",
           Where.ANYWHERE, slash="theme", argument="NAME"),
    Action("quit", "Quit", "End the terminal. A running turn is cancelled first.", Where.ANYWHERE,
           keys=("ctrl+q",), slash="quit"),
    Action("interrupt", "Copy, or interrupt",
           "Copy the selected text. Without one, end the turn. Twice in a row quits.",
           Where.ANYWHERE, keys=("ctrl+c",), in_palette=False),
    Action("suspend", "Suspend", "Return to the shell. Its command `fg` comes back.",
           Where.ANYWHERE, keys=("ctrl+z",)),
    Action("new", "New conversation", "Start a conversation without earlier messages.",
           Where.CONVERSATION, slash="new"),
    Action("end_turn", "End the turn", "Cancel the running turn. Queued messages stay.",
           Where.CONVERSATION, keys=("escape",)),
    Action("sessions", "Sessions", "Choose, rename, branch, delete or export a conversation.",
           Where.CONVERSATION, keys=("ctrl+o",), slash="sessions"),
    Action("rewind", "Rewind", "Go back to an earlier prompt: the conversation, the code, or both.",
           Where.CONVERSATION, slash="rewind"),
    Action("undo_rewind", "Undo the rewind", "Undo the newest rewind of the conversation.",
           Where.CONVERSATION, slash="undo-rewind"),
    Action("models", "Models", "Choose the model of this session.", Where.CONVERSATION,
           slash="model"),
    Action("read_only", "Read-only mode", "From now on, no tool writes or runs anything.",
           Where.CONVERSATION, slash="read-only"),
    Action("normal_mode", "Normal mode", "Leave the read-only mode.", Where.CONVERSATION,
           slash="normal"),
    Action("context", "Context plan", "Show what the next prompt contains, and its tokens.",
           Where.CONVERSATION, slash="context"),
    Action("search", "Search the code", "Find code by name or meaning, and attach it.",
           Where.CONVERSATION, keys=("ctrl+f",), emacs=("alt+s",), slash="search",
           argument="QUERY"),
    Action("proposals", "Proposals", "Show proposed edits: their state, checks, undo and redo.",
           Where.CONVERSATION, slash="edits"),
    Action("answer", "Answer the question",
           "Answer the question for approval above the prompt.", Where.CONVERSATION,
           keys=("tab", "f4")),
    Action("permissions", "Permissions", "List what is allowed, and revoke it.",
           Where.CONVERSATION, slash="permissions"),
    Action("checks", "Checks", "Run a check of the repository.", Where.CONVERSATION,
           slash="checks", argument="NAME"),
    Action("trace", "Flight recorder", "Show the trace of the selected answer.",
           Where.CONVERSATION, keys=("ctrl+t",), slash="trace"),
    Action("analyse", "What went wrong?", "Ask the analyst about the selected run.",
           Where.CONVERSATION, slash="analyse", argument="QUESTION"),
    Action("allow_once", "Once", "Allow this call only.", Where.ANSWER, keys=("y",),
           in_palette=False),
    Action("allow_session", "For this session", "Allow such calls until Treadle ends.",
           Where.ANSWER, keys=("s",), in_palette=False),
    Action("allow_always", "Always", "Allow such calls in this repository until you revoke it.",
           Where.ANSWER, keys=("a",), in_palette=False),
    Action("deny", "Deny", "Deny the call, with words for the model.", Where.ANSWER, keys=("n",),
           in_palette=False),
    Action("apply_proposal", "Apply", "Write the hunks that you take. A waiting call is answered.",
           Where.DECISION, keys=("a",), in_palette=False),
    Action("deny_proposal", "Deny", "Deny the proposal, with words for the model.", Where.DECISION,
           keys=("d",), in_palette=False),
    Action("toggle_hunk", "Take/leave", "Take or leave the current hunk.", Where.PROPOSAL,
           keys=("space",), in_palette=False),
    Action("toggle_file", "File", "Take or leave all hunks of the current file.", Where.PROPOSAL,
           keys=("f",), in_palette=False),
    Action("next_hunk", "Next", "Go to the next hunk.", Where.PROPOSAL, keys=("n",),
           in_palette=False),
    Action("previous_hunk", "Previous", "Go to the previous hunk.", Where.PROPOSAL, keys=("p",),
           in_palette=False),
    Action("edit_result", "Edit",
           "Edit the proposed content of the file in $EDITOR, at the current hunk.", Where.PROPOSAL,
           keys=("e",), in_palette=False),
    Action("switch_sides", "Sides", "Change between a side-by-side and a unified diff.",
           Where.PROPOSAL, keys=("s",), in_palette=False),
    Action("next_file", "Next file", "Go to the next file.", Where.PROPOSAL,
           keys=("right_square_bracket",), in_palette=False),
    Action("previous_file", "Previous file", "Go to the previous file.", Where.PROPOSAL,
           keys=("left_square_bracket",), in_palette=False),
    Action("undo_proposal", "Undo", "Undo the applied proposal. Your later changes stay.",
           Where.DECISION, keys=("u",), in_palette=False),
    Action("undo_unchanged", "Undo the rest",
           "Undo the files without conflicts, and keep the others.", Where.DECISION,
           keys=("U",), in_palette=False),
    Action("redo_proposal", "Redo", "Apply the undone proposal again.", Where.DECISION,
           keys=("r",), in_palette=False),
    Action("restage_proposal", "Rebase", "Fit the proposal to the present files.", Where.DECISION,
           keys=("b",), in_palette=False),
    Action("revoke_permission", "Revoke", "Revoke the highlighted permission.", Where.PERMISSIONS,
           keys=("delete", "x"), in_palette=False),
    Action("run_once", "Once", "Run the program of the repository once.", Where.CONSENT,
           keys=("y",), in_palette=False),
    Action("run_always", "Always", "Run the program, and always allow it for this check.",
           Where.CONSENT, keys=("a",), in_palette=False),
    Action("rerun_check", "Run again", "Run the check again.", Where.CHECK, keys=("r",),
           in_palette=False),
    Action("hand_to_model", "Hand to the model",
           "Put the result of the check into the next prompt.", Where.CHECK, keys=("m",),
           in_palette=False),
    Action("show_output", "Output", "Show the whole output or the parsed results.", Where.CHECK,
           keys=("o",), in_palette=False),
    Action("scroll_page_up", "Page up",
           "Scroll the transcript up by one page. A prompt that does not fit is scrolled first.",
           Where.CONVERSATION, keys=("pageup",), in_palette=False),
    Action("scroll_page_down", "Page down",
           "Scroll the transcript down by one page. A prompt that does not fit is scrolled first.",
           Where.CONVERSATION, keys=("pagedown",), in_palette=False),
    Action("scroll_to_start", "First message", "Scroll to the start of the conversation.",
           Where.CONVERSATION, keys=("ctrl+home",)),
    Action("follow", "Follow the answer",
           "Scroll to the end and stay there. In the prompt, End moves the cursor.",
           Where.CONVERSATION, keys=("ctrl+end", "end")),
    Action("previous_prompt", "Previous prompt", "Jump to the prompt above.", Where.CONVERSATION,
           keys=("ctrl+up",)),
    Action("next_prompt", "Next prompt", "Jump to the prompt below.", Where.CONVERSATION,
           keys=("ctrl+down",)),
    Action("send", "Send", "Send the message. While a turn runs, the message is queued.",
           Where.PROMPT, keys=("enter",), in_palette=False),
    Action("line_break", "Break the line",
           "Begin a new line. Only terminals with the kitty keyboard protocol can send Shift+Enter."
           " All terminals send Ctrl+J, and almost all send Alt+Enter.",
           Where.PROMPT, keys=("shift+enter", "alt+enter", "ctrl+j"), in_palette=False),
    Action("complete", "Complete", "Insert the selected completion of a word after @ or /.",
           Where.PROMPT, keys=("tab",), in_palette=False),
    Action("older_message", "Older message",
           "Show the message that you sent before. The cursor is in the first line.",
           Where.PROMPT, keys=("up",), in_palette=False),
    Action("newer_message", "Newer message",
           "Show the message that you sent next. The cursor is in the last line.",
           Where.PROMPT, keys=("down",), in_palette=False),
    Action("search_history", "Search sent messages", "Find a sent message as you type.",
           Where.PROMPT, keys=("ctrl+r",), in_palette=False),
    Action("edit_in_editor", "Write in an editor",
           "Open the prompt in the editor that VISUAL or EDITOR names.",
           Where.PROMPT, keys=("ctrl+g",), in_palette=False),
    Action("open_chip", "Open the chip", "Replace the chip at the cursor by its text.",
           Where.PROMPT, keys=("f2",), in_palette=False),
    Action("steer", "Send at once",
           "Send the message to the running turn, before its next model request.",
           Where.PROMPT, keys=("ctrl+s",), in_palette=False),
    Action("edit_queued", "Edit", "Move the selected message back to the prompt.",
           Where.QUEUE, keys=("enter",), in_palette=False),
    Action("drop_queued", "Drop", "Remove the selected message.",
           Where.QUEUE, keys=("delete", "backspace"), in_palette=False),
    Action("steer_queued", "Send at once", "Send the selected message to the running turn.",
           Where.QUEUE, keys=("s",), in_palette=False),
    Action("move_queued_up", "Move up", "Send the selected message earlier.",
           Where.QUEUE, keys=("shift+up", "K"), in_palette=False),
    Action("move_queued_down", "Move down", "Send the selected message later.",
           Where.QUEUE, keys=("shift+down", "J"), in_palette=False),
    Action("leave_queue", "Back to the prompt", "Write in the prompt again.",
           Where.QUEUE, keys=("escape",), in_palette=False),
    Action("select_previous", "Select above", "Select the item or source above.",
           Where.TRANSCRIPT, keys=("up",), vim=("up", "k"), emacs=("up", "ctrl+p"),
           in_palette=False),
    Action("select_next", "Select below", "Select the item or source below.", Where.TRANSCRIPT,
           keys=("down",), vim=("down", "j"), emacs=("down", "ctrl+n"), in_palette=False),
    Action("unfold", "Open or close", "Unfold or fold the selected item, or show the source.",
           Where.TRANSCRIPT, keys=("enter", "space"), in_palette=False),
    Action("open_source", "Open in the editor", "Open the selected source at its line in $EDITOR.",
           Where.TRANSCRIPT, keys=("o",)),
    Action("open_span", "Go to the span", "Show the selected call or span in the flight recorder.",
           Where.TRANSCRIPT, keys=("t",)),
    Action("copy_message", "Copy the message", "Copy the selected message, or the last answer.",
           Where.TRANSCRIPT, keys=("y",), slash="copy"),
    Action("copy_code", "Copy the code", "Copy the selected code block, or the last one.",
           Where.TRANSCRIPT, keys=("c",), slash="copy-code"),
    Action("copy_command", "Copy the command",
           "Copy the main argument of the selected call, or the last shell commands.",
           Where.TRANSCRIPT, keys=("x",), slash="copy-command"),
    Action("find", "Find in the conversation", "Find a text in all messages, calls and results.",
           Where.TRANSCRIPT, keys=("slash",), slash="find", argument="TEXT"),
    Action("write", "Write", "Go back to the prompt.", Where.TRANSCRIPT, keys=("i",),
           in_palette=False),
    Action("find_next", "Next match", "Go to the next match.", Where.CONVERSATION, keys=("f3",),
           vim=("f3", "n"), in_palette=False),
    Action("find_previous", "Previous match", "Go to the previous match.", Where.CONVERSATION,
           keys=("shift+f3",), vim=("shift+f3", "N"), in_palette=False),
    Action("close_find", "Close", "Close the find line.", Where.FIND, keys=("escape",),
           in_palette=False),
    Action("search_edit", "Edit", "Open the code at its line in $EDITOR.", Where.SEARCH,
           keys=("f4",)),
    Action("search_callers", "Callers", "List what calls the item.", Where.SEARCH, keys=("f5",)),
    Action("search_callees", "Callees", "List what the item calls.", Where.SEARCH, keys=("f6",)),
    Action("search_implementations", "Implementations",
           "List subclasses, implementations and overrides.", Where.SEARCH, keys=("f7",)),
    Action("search_back", "Back", "Go back to the list before.", Where.SEARCH, keys=("f8",)),
    Action("trace_analyse", "What went wrong?", "Ask the analyst about this span and its run.",
           Where.TRACE, keys=("f2",)),
    Action("trace_fold", "Fold", "Hide the rows below, or go to the row above in the tree.",
           Where.TRACE, keys=("alt+left",), vim=("alt+left", "alt+h")),
    Action("trace_unfold", "Unfold", "Show the rows below.", Where.TRACE, keys=("alt+right",),
           vim=("alt+right", "alt+l")),
    Action("trace_whole", "Whole content", "Show the whole content of the span, or shorten it.",
           Where.TRACE, keys=("f6",)),
    Action("trace_browser", "Browser", "Open the span on the page of a running server.",
           Where.TRACE, keys=("f4",)),
    Action("trace_reload", "Read again", "Read the trace again.", Where.TRACE, keys=("f5",)),
    Action("close", "Close", "Close the overlay.", Where.OVERLAY, keys=("escape",),
           in_palette=False),
    Action("choose", "Choose", "Choose the highlighted row.", Where.LIST, keys=("enter",),
           in_palette=False),
    Action("row_up", "Up", "Highlight the row above.", Where.LIST, keys=("up",),
           vim=("up", "k"), emacs=("up", "ctrl+p"), in_palette=False),
    Action("row_down", "Down", "Highlight the row below.", Where.LIST, keys=("down",),
           vim=("down", "j"), emacs=("down", "ctrl+n"), in_palette=False),
    Action("page_up", "Page up", "Go up by one page.", Where.LIST, keys=("pageup",),
           vim=("pageup", "ctrl+b"), emacs=("pageup", "alt+v"), in_palette=False),
    Action("page_down", "Page down", "Go down by one page.", Where.LIST, keys=("pagedown",),
           vim=("pagedown", "ctrl+f"), emacs=("pagedown", "ctrl+v"), in_palette=False),
    Action("first_row", "First", "Highlight the first row.", Where.LIST,
           keys=("home", "ctrl+home"), vim=("home", "ctrl+home", "g"), in_palette=False),
    Action("last_row", "Last", "Highlight the last row.", Where.LIST,
           keys=("end", "ctrl+end"), vim=("end", "ctrl+end", "G"), in_palette=False),
    Action("preview_up", "Preview up", "Scroll the preview up.", Where.LIST,
           keys=("ctrl+up", "shift+up"), in_palette=False),
    Action("preview_down", "Preview down", "Scroll the preview down.", Where.LIST,
           keys=("ctrl+down", "shift+down"), in_palette=False),
    Action("confirm", "Yes", "Do what the question asks about.", Where.QUESTION, keys=("y",),
           in_palette=False),
    Action("rewind_keeping", "Keep files",
           "Leave the files in conflict as they are, and do the rest.", Where.REWIND, keys=("k",),
           vim=("K",), in_palette=False),
    Action("leave_out", "Leave out",
           "Leave out the part of the prompt, or take it in again. A pin is removed.",
           Where.CONTEXT_PLAN, keys=("x", "space"), in_palette=False),
    Action("pin_code", "Pin", "Send a file or lines of it with each prompt.", Where.CONTEXT_PLAN,
           keys=("p",), in_palette=False),
    Action("past_requests", "Past requests", "Show what an earlier request contained.",
           Where.CONTEXT_PLAN, keys=("r",), in_palette=False),
    Action("save_model", "Save", "Use the model now, and save it in your configuration.",
           Where.MODELS, keys=("ctrl+s",), in_palette=False),
    Action("test_model", "Test", "Ask the model a small question with a tool.", Where.MODELS,
           keys=("ctrl+t",), in_palette=False),
    Action("show_vendors", "Vendors", "List the vendors that a router offers for the model.",
           Where.MODELS, keys=("ctrl+o",), in_palette=False),
    Action("rename_session", "Rename", "Change the title of the session.", Where.SESSIONS,
           keys=("ctrl+r",), in_palette=False),
    Action("show_branches", "Branches", "Show the tree of branches, and continue at a message.",
           Where.SESSIONS, keys=("ctrl+b",), vim=("alt+b",), in_palette=False),
    Action("export_session", "Export", "Write the session to a file, as Markdown or JSON.",
           Where.SESSIONS, keys=("ctrl+e",), in_palette=False),
    Action("delete_session", "Delete", "Delete the session with all its branches.",
           Where.SESSIONS, keys=("ctrl+d",), in_palette=False),
)  # fmt: skip
"""All actions, in the order in which the help screen lists them."""


def actions_in(*places: Where) -> tuple[Action, ...]:
    """Return the actions of these parts of the terminal, in the order of the parts."""
    return tuple(action for place in places for action in ACTIONS if action.where is place)


def slash_commands() -> Iterable[Action]:
    """The actions that have a slash command."""
    return (action for action in ACTIONS if action.slash is not None)
