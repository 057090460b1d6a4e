/** What operators can switch off, by the names that the API has for it. */
export const switches = ["likesOff", "commentsReadOnly", "pullOnly"] as const;
export type Switch = (typeof switches)[number];

const byName: Record<string, Switch> = { likes_off: "likesOff", comments_read_only: "commentsReadOnly", pull_only: "pullOnly" };

/** The switch of a name in the history of the plan, as likes_off, or in the audit log, as feed.likes_off. It is on while the feature is off. */
export function switchNamed(name: string): Switch | undefined {
  return byName[name.replace(/^feed\./, "")];
}
