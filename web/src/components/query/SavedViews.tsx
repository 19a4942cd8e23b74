// The menu of saved views: open one, save the current one, change or delete them.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { visible } from "../../text/visible";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { type Action, Menu } from "../Menu";
import { useNotices } from "../Notices";
import { ErrorNotice } from "../States";
import { TextField } from "../TextField";
import styles from "./ListSearch.module.css";
import { type SavedView, useSavedViews } from "./savedViews";
import type { View } from "./views";

type Views = ReturnType<typeof useSavedViews>;

export function SavedViews({ view: screen }: { view: View }) {
  const saved = useSavedViews(screen);
  const [dialog, show] = useState<"save" | "change" | null>(null);
  const actions: Action[] = [
    ...saved.views.map((view) => ({
      id: view.id,
      name: `${visible(view.name)}${view === saved.current ? " ✓" : ""}`,
      run: () => saved.open(view),
    })),
    { id: "save", name: "Save this view…", run: () => show("save") },
    {
      id: "change",
      name: "Rename or delete…",
      run: () => show("change"),
      isDisabled: saved.views.length === 0,
    },
  ];
  const close = () => show(null);
  return (
    <>
      <Menu
        label={saved.current ? visible(saved.current.name) : "Views"}
        actions={actions}
        small={false}
      />
      {dialog === "save" && <SaveDialog saved={saved} onClose={close} />}
      {dialog === "change" && <ChangeDialog saved={saved} onClose={close} />}
    </>
  );
}

interface DialogProps {
  saved: Views;
  onClose: () => void;
}

function SaveDialog({ saved, onClose }: DialogProps) {
  const [name, setName] = useState("");
  const { tell } = useNotices();
  const saving = useMutation({
    mutationFn: () => {
      const same = saved.views.find((view) => view.name === name.trim());
      return same ? saved.change(same, saved.shown) : saved.save(name.trim());
    },
    onSuccess: () => {
      tell({ kind: "good", text: `Saved as “${visible(name.trim())}”.` });
      onClose();
    },
  });
  const isKnown = saved.views.some((view) => view.name === name.trim());
  const save = () => {
    if (name.trim() !== "") saving.mutate();
  };
  return (
    <Dialog
      title="Save this view"
      isOpen
      onOpenChange={onClose}
      actions={
        <Button kind="primary" isDisabled={name.trim() === ""} onPress={save}>
          {isKnown ? "Replace" : "Save"}
        </Button>
      }
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        autoFocus
        hint={
          isKnown
            ? "A view with this name exists and will be replaced."
            : "A view contains the query, the order, the groups and the columns."
        }
        onKeyDown={(event) => {
          if (event.key === "Enter") save();
        }}
      />
      {saving.error && <ErrorNotice what="The view could not be saved" error={saving.error} />}
    </Dialog>
  );
}

function ChangeDialog({ saved, onClose }: DialogProps) {
  return (
    <Dialog title="Saved views" isOpen onOpenChange={onClose}>
      <ul className={styles.views}>
        {saved.views.map((view) => (
          <Line key={view.id} view={view} saved={saved} />
        ))}
      </ul>
      {saved.views.length === 0 && <p>There are no saved views.</p>}
    </Dialog>
  );
}

function Line({ view, saved }: { view: SavedView; saved: Views }) {
  const [name, setName] = useState(view.name);
  const renaming = useMutation({ mutationFn: () => saved.change(view, { name: name.trim() }) });
  const removing = useMutation({ mutationFn: () => saved.remove(view) });
  const error = renaming.error ?? removing.error;
  const isChanged = name.trim() !== "" && name.trim() !== view.name;
  return (
    <li>
      <div className={styles.view}>
        <TextField
          label={`Name of ${view.name}`}
          hideLabel
          value={name}
          onChange={setName}
          onKeyDown={(event) => {
            if (event.key === "Enter" && isChanged) renaming.mutate();
          }}
        />
        <Button isDisabled={!isChanged} onPress={() => renaming.mutate()}>
          Rename
        </Button>
        <Button kind="danger" aria-label={`Delete ${view.name}`} onPress={() => removing.mutate()}>
          Delete
        </Button>
      </div>
      <code>{visible(view.query) || "everything"}</code>
      {error && <ErrorNotice what="The view could not be changed" error={error} />}
    </li>
  );
}
