export const texts = {
  en: { poll: "Poll", vote: "My vote" },
  zh: { poll: "投票", vote: "我选" },
};
