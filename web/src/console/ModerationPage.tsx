import { useState } from "react";
import { AppealList } from "./AppealList.js";
import { BanList } from "./BanList.js";
import { CaseState } from "./calls.js";
import { CaseList } from "./CaseList.js";
import type { PageProps } from "./pageProps.js";
import { useText, type Key } from "./text.js";
import { WordLists } from "./WordLists.js";

const lists = ["openCases", "decidedCases", "openAppeals", "bans", "wordLists"] as const satisfies readonly Key[];

/** What was reported, appeals, and bans. */
export function ModerationPage(props: PageProps) {
  const t = useText();
  const [list, setList] = useState<(typeof lists)[number]>("openCases");
  return (
    <>
      <div className="buttons" role="group" aria-label={t("moderation")}>
        {lists.map((l) => (
          <button key={l} aria-pressed={l === list} onClick={() => setList(l)}>{t(l)}</button>
        ))}
      </div>
      {(list === "openCases" || list === "decidedCases") && <CaseList key={list} {...props} state={list === "openCases" ? CaseState.OPEN : CaseState.DECIDED} />}
      {list === "openAppeals" && <AppealList {...props} />}
      {list === "bans" && <BanList {...props} />}
      {list === "wordLists" && <WordLists {...props} />}
    </>
  );
}
