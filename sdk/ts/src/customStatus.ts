/** What a user says of themself: an emoji, a text, or both. It ends at untilMs, where that is not 0. */
export interface CustomStatusView {
  emoji: string;
  text: string;
  untilMs: number;
}
