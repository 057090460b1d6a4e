import { createContext, useCallback, useContext, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactElement, type ReactNode, type Ref } from "react";
import { flushSync } from "react-dom";
import { Virtualizer, type CustomItemComponentProps, type VirtualizerHandle } from "virtua";
import styles from "./VirtualList.module.css";

export interface VirtualListHandle {
  /** Brings a row into view and gives it the focus. */
  focus(index: number): void;
  /** Scrolls to the beginning. */
  toTop(): void;
}

interface Props<T> {
  rows: readonly T[];
  keyOf: (row: T) => string;
  render: (row: T, index: number, reached: boolean) => ReactElement;
  /** How many rows there are, where not all are loaded. */
  total?: number;
  /** Whether there are more rows than are loaded, where nobody knows how many. */
  hasMore?: boolean;
  /** What scrolls with the rows, before and behind them. */
  head?: ReactNode;
  foot?: ReactNode;
  /** The row that Tab comes to, from when this changes until another one has the focus; the first, unless set. */
  entry?: string | undefined;
  /** Called when the last rows come near the view. */
  onEnd?: () => void;
  className?: string;
  ref?: Ref<VirtualListHandle>;
}

/** Loads more when so many rows are left below the view. */
const rowsAhead = 20;
const moves: Record<string, (at: number, last: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + 10,
  PageUp: (at) => at - 10,
  Home: () => 0,
  End: (_, last) => last,
};

const Total = createContext(0);

/** A row, with its place among all rows: most of them are not in the page. */
function Item({ style, index, children, ref }: CustomItemComponentProps): ReactNode {
  const total = useContext(Total);
  return <li ref={ref} style={style} data-index={index} aria-posinset={index + 1} aria-setsize={Number.isFinite(total) ? total : -1}>{children}</li>;
}

/** The height of an element, as it changes; 0 while it is not in the page. */
function useHeight(): [(element: HTMLElement | null) => (() => void) | undefined, number] {
  const [height, setHeight] = useState(0);
  const measure = useCallback((element: HTMLElement | null) => {
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.offsetHeight));
    observer.observe(element);
    return () => {
      observer.disconnect();
      setHeight(0);
    };
  }, []);
  return [measure, height];
}

/**
 * A list of any length, which scrolls. Rows near the view are in the page, and the one that has the focus, or that Tab comes to. A row is
 * one stop for Tab (`.row`, an article, or its first control), and the arrow keys, Page Up and Down, Home and End lead to the others.
 */
export function VirtualList<T>({ rows, keyOf, render, hasMore = false, total = hasMore ? Infinity : rows.length, head, foot, entry, onEnd, className = "", ref }: Props<T>): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  /** The row that has the focus, or had it last. */
  const [active, setActive] = useState<string>();
  /** The row that is to get the focus: it may not be in the page yet, and hidden until it is measured. */
  const wanted = useRef<number>(undefined);
  const reached = Math.max(0, rows.findIndex((r) => keyOf(r) === active));

  const [headBox, headHeight] = useHeight();

  const giveFocus = () => {
    if (wanted.current === undefined) return;
    const row = box.current?.querySelector<HTMLElement>(`li[data-index="${wanted.current}"]`);
    const target = row?.querySelector<HTMLElement>(".row, article, button, a, input");
    target?.focus({ preventScroll: true });
    if (target && document.activeElement === target) wanted.current = undefined;
  };
  const focus = (index: number) => {
    const row = rows[index];
    if (row === undefined) return;
    wanted.current = index;
    flushSync(() => setActive(keyOf(row)));
    list.current?.scrollToIndex(index, { align: "nearest" });
    giveFocus();
  };
  useImperativeHandle(ref, () => ({ focus, toTop: () => box.current?.scrollTo({ top: 0 }) }));
  useLayoutEffect(giveFocus);
  useEffect(() => {
    if (entry !== undefined) setActive(entry);
  }, [entry]);

  /** Not in a dialog or a menu of a row, whose events come here, too. */
  const isInside = (target: EventTarget) => box.current?.contains(target as Node) ?? false;
  const key = (e: KeyboardEvent) => {
    const move = moves[e.key];
    const at = Number((e.target as Element).closest("li")?.dataset["index"] ?? -1);
    if (!move || at < 0 || e.defaultPrevented || !isInside(e.target)) return;
    e.preventDefault();
    focus(Math.min(rows.length - 1, Math.max(0, move(at, rows.length - 1))));
  };

  const more = () => {
    const l = list.current;
    if (onEnd && l && rows.length < total && l.findItemIndex(l.scrollOffset + l.viewportSize) >= rows.length - rowsAhead) onEnd();
  };
  useEffect(more, [rows.length, total]);

  const focused = (target: Element) => {
    const row = rows[Number(target.closest("li")?.dataset["index"] ?? -1)];
    if (row !== undefined) setActive(keyOf(row));
  };
  return (
    <Total value={total}>
      <div ref={box} className={`${styles["list"]} ${className}`} onKeyDown={key} onFocus={(e) => isInside(e.target) && focused(e.target)}>
        {head && <div ref={headBox}>{head}</div>}
        <Virtualizer ref={list} startMargin={headHeight} as="ul" item={Item} data={rows} keepMounted={rows.length > 0 ? [reached] : []} onScroll={more} onResize={() => { giveFocus(); more(); }}>
          {(row, i) => <div key={keyOf(row)}>{render(row, i, i === reached)}</div>}
        </Virtualizer>
        {foot}
      </div>
    </Total>
  );
}
