// Shows messages of the type app.example/poll, such as {"question":"Lunch?","options":["Pizza","Ramen"]}: who chooses an option sends a message of
// the type app.example/vote, which apps without this extension show as its fallback.
import { texts } from "./texts.js";

const translate = () => texts[document.documentElement.lang.startsWith("zh") ? "zh" : "en"];

/** Throws if the data are not a poll; the message's fallback is then shown. */
function decode(data) {
  const { question, options } = data;
  if (typeof question !== "string" || !Array.isArray(options) || !options.every((o) => typeof o === "string")) throw new Error("no poll");
  return { question, options };
}

export default function extension({ client, registerKind }) {
  registerKind("app.example/poll", {
    decode,
    text: (poll) => `📊 ${translate().poll}: ${poll.question}`,
    render(element, poll, message) {
      const question = document.createElement("p");
      question.textContent = poll.question; // never innerHTML: other users wrote it
      const group = document.createElement("div");
      group.role = "group";
      group.ariaLabel = `${translate().poll}: ${poll.question}`;
      group.style.cssText = "display: flex; flex-wrap: wrap; gap: 8px";
      for (const option of poll.options) {
        const button = document.createElement("button");
        button.textContent = option;
        button.onclick = async () => {
          await client.sendCustom(message.conversation, "app.example/vote", { poll: message.seq, option }, `${translate().vote}: ${option}`);
        };
        group.append(button);
      }
      element.append(question, group);
    },
  });
}
