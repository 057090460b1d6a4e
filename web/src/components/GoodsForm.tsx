import { unsent, useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { currencies } from "../money.js";
import { isGoods, mostGoods, newGoods, type GoodsDraft, type PostDraft, type PostImage } from "../postDraft.js";
import { IconButton } from "../ui/IconButton.js";
import { FileImage } from "./FileImage.js";
import { CloseIcon, ImageIcon } from "./icons.js";

type Change = (next: (d: PostDraft) => PostDraft) => void;
type AddImage = (file: File, put: (d: PostDraft, image: PostImage) => PostDraft) => void;

/** The cover of a post that is being written. */
export function CoverField({ cover, change, onAdd }: { cover: PostImage | undefined; change: Change; onAdd: AddImage }) {
  const t = useText();
  return (
    <div className="post-form-cover" role="group" aria-label={t("cover")}>
      {cover ? <OneImage image={cover} className="post-cover" onRemove={() => change(({ cover: _, ...d }) => d)} /> : <OneFile label={t("addCover")} testId="cover-input" onFile={(file) => onAdd(file, (d, image) => ({ ...d, cover: image }))} />}
    </div>
  );
}

/** The goods of a post that is being written. */
export function GoodsFields({ goods, change, onAdd }: { goods: readonly GoodsDraft[]; change: Change; onAdd: AddImage }) {
  const t = useText();
  const set = (at: number, g: Partial<GoodsDraft>) => change((d) => ({ ...d, goods: d.goods.map((old, i) => (i === at ? { ...old, ...g } : old)) }));
  return (
    <>
      {goods.map((g, i) => (
        <fieldset key={i} className="goods-fields" data-testid="goods-fields">
          <legend>{t("goodsAt", { n: i + 1 })}</legend>
          <IconButton label={t("removeGoods", { n: i + 1 })} onClick={() => change((d) => ({ ...d, goods: d.goods.filter((_, at) => at !== i) }))}><CloseIcon /></IconButton>
          <label className="wide">{t("goodsName")}<input name="goods-name" dir="auto" maxLength={120} value={g.name} onChange={(e) => set(i, { name: e.target.value })} /></label>
          <label>{t("price")}<input name="goods-price" inputMode="decimal" dir="ltr" maxLength={16} value={g.price} onChange={(e) => set(i, { price: e.target.value })} /></label>
          <label>{t("currency")}<select value={g.currency} onChange={(e) => set(i, { currency: e.target.value })}>{[...new Set([...currencies, g.currency])].map((c) => <option key={c}>{c}</option>)}</select></label>
          <label className="wide">{t("goodsLink")}<input name="goods-link" type="url" inputMode="url" dir="ltr" maxLength={2000} placeholder="https://" value={g.link} onChange={(e) => set(i, { link: e.target.value })} /></label>
          {g.picture ? (
            <OneImage image={g.picture} onRemove={() => change((d) => ({ ...d, goods: d.goods.map(({ picture, ...old }, at) => (at !== i && picture ? { ...old, picture } : old)) }))} />
          ) : (
            <OneFile label={t("addGoodsPicture")} testId="goods-picture-input" onFile={(file) => onAdd(file, (d, image) => ({ ...d, goods: d.goods.map((old, at) => (at === i ? { ...old, picture: image } : old)) }))} />
          )}
          {!isGoods(g) && (g.name !== "" || g.price !== "") && <small className="wide" role="status">{t("goodsIncomplete")}</small>}
        </fieldset>
      ))}
      {goods.length < mostGoods && <button type="button" className="link" onClick={() => change((d) => ({ ...d, goods: [...d.goods, newGoods(d.goods.at(-1)?.currency)] }))}>{t("addGoods")}</button>}
    </>
  );
}

function OneFile({ label, testId, onFile }: { label: string; testId: string; onFile: (file: File) => void }) {
  return (
    <label className="file-button">
      {label}
      <input
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        data-testid={testId}
        onChange={(e) => {
          const file = e.target.files?.[0];
          e.target.value = ""; // the same file can be chosen again
          if (file) onFile(file);
        }}
      />
    </label>
  );
}

function OneImage({ image, className = "", onRemove }: { image: PostImage; className?: string; onRemove: () => void }) {
  const t = useText();
  const file = useDownload(unsent, image.upload);
  return (
    <span className={`post-image ${className}`}>
      {file.url ? <FileImage of={file} alt={image.name} onError={file.renew} /> : <ImageIcon />}
      <IconButton label={t("removeImage", { name: image.name })} onClick={onRemove}><CloseIcon /></IconButton>
    </span>
  );
}
