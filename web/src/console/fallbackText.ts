import type { Values } from "../locale.js";

export const fallbackEn = {
  fallbackNone: "No model is in use.",
  fallbackNeeds: "No model is in use. A model needs {shown} posts that were seen, {opened} of them opened.",
  fallbackNotStored: "Model {id} is in use, and not stored.",
  fallbackUnusable: "Model {id} cannot be used: {error}",
};

export const fallbackZh: Record<keyof typeof fallbackEn, string> = {
  fallbackNone: "没有启用模型。",
  fallbackNeeds: "没有启用模型。训练模型需要 {shown} 条被浏览过的动态，其中 {opened} 条被打开过。",
  fallbackNotStored: "模型 {id} 已启用，但未存储。",
  fallbackUnusable: "模型 {id} 无法使用：{error}",
};

type FallbackKey = keyof typeof fallbackEn;

/** What the server says, with the names of what it fills in. */
export const fallbackPatterns: readonly [RegExp, FallbackKey][] = [
  [/^no model is in use: posts are ranked by the weights; a model needs (?<shown>\d+) posts that were seen, (?<opened>\d+) of them opened$/, "fallbackNeeds"],
  [/^no model is in use: posts are ranked by the weights$/, "fallbackNone"],
  [/^model (?<id>\d+) is in use, and not stored: posts are ranked by the weights$/, "fallbackNotStored"],
  [/^model (?<id>\d+) cannot be used: (?<error>.*)$/, "fallbackUnusable"],
];

/** Why the weights rank, in the console's language; in the server's words if it is of a later release. */
export function describeFallback(fallback: string, t: (key: FallbackKey, values?: Values) => string): string {
  for (const [pattern, key] of fallbackPatterns) {
    const found = pattern.exec(fallback);
    if (found) return t(key, found.groups);
  }
  return fallback;
}
