// An attachment with name, type and size. An image is shown only on request, and nothing is loaded
// from elsewhere.
import { useEffect, useState } from "react";
import { hasKey } from "../../api/access";
import { bytes } from "../../format/numbers";
import { visible } from "../../text/visible";
import { Button } from "../Button";
import { blobAddress, loadedBlob } from "./blobs";
import styles from "./Messages.module.css";
import type { AttachmentPart } from "./message";

const SHOWN = /^image\/(png|jpeg|gif|webp|avif|bmp)$/; // SVG is excluded: it is a document

export function AttachmentView({ attachment }: { attachment: AttachmentPart }) {
  const [shown, show] = useState(false);
  const { source, mediaType, name } = attachment;
  const isImage = mediaType !== null && SHOWN.test(mediaType);
  const label = name ?? (mediaType?.startsWith("image/") ? "Image" : "Attachment");
  return (
    <div className={styles.attachment}>
      <span>
        <span aria-hidden="true">⎙ </span>
        {visible(label)}
      </span>
      <span className={styles.about}>
        {[mediaType, attachment.bytes === null ? null : bytes(attachment.bytes)]
          .filter((each) => each !== null)
          .map((each) => visible(each))
          .join(", ")}
      </span>
      {source.at === "elsewhere" && <code>{visible(source.address.slice(0, 2_000))}</code>}
      {source.at !== "elsewhere" && isImage && (
        <Button small aria-expanded={shown} onPress={() => show(!shown)}>
          {shown ? "Hide" : "Show"}
        </Button>
      )}
      {source.at === "blob" && <Opened digest={source.digest} name={label} />}
      {shown && source.at !== "elsewhere" && (
        <Picture source={source} mediaType={mediaType ?? ""} alt={label} />
      )}
    </div>
  );
}

type Source = Exclude<AttachmentPart["source"], { at: "elsewhere" }>;

function Picture({ source, mediaType, alt }: { source: Source; mediaType: string; alt: string }) {
  const loaded = useLoaded(source.at === "blob" && hasKey() ? source.digest : null, mediaType);
  const address =
    source.at !== "blob" ? source.url : hasKey() ? loaded : blobAddress(source.digest);
  if (address === null) return null;
  return <img className={styles.image} src={address} alt={alt} />;
}

/** A link sends no key. With a key the page reads the content and saves it. */
function Opened({ digest, name }: { digest: string; name: string }) {
  if (!hasKey()) {
    return (
      <a href={blobAddress(digest)} target="_blank" rel="noreferrer">
        Open
      </a>
    );
  }
  return (
    <Button small onPress={() => void save(digest, name)}>
      Save
    </Button>
  );
}

async function save(digest: string, name: string): Promise<void> {
  const address = await loadedBlob(digest, "application/octet-stream");
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The address of a blob that was read with the key; null until it is ready. */
function useLoaded(digest: string | null, type: string): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (digest === null) return;
    let left = false;
    let made: string | null = null;
    loadedBlob(digest, type).then(
      (loaded) => {
        made = loaded;
        if (left) URL.revokeObjectURL(loaded);
        else setAddress(loaded);
      },
      () => {}, // like an image that does not load: its description is shown
    );
    return () => {
      left = true;
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [digest, type]);
  return address;
}
