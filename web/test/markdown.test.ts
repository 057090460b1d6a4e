import { expect, test } from "vitest";
import { addresses, type Range } from "../src/links.js";
import { parseMarkdown, withoutMarks, type Block, type Inline } from "../src/markdown.js";

/** The parse of a text, as HTML without escapes; undefined where it is shown as it is. */
function html(text: string, opaque: readonly Range[] = addresses(text)): string | undefined {
  const inline = (c: Inline): string => {
    switch (c.kind) {
      case "text":
        return text.slice(c.from, c.to);
      case "code":
        return `<code>${c.text}</code>`;
      case "link":
        return `<a ${c.href}>${c.children.map(inline).join("")}</a>`;
      default:
        return `<${c.kind}>${c.children.map(inline).join("")}</${c.kind}>`;
    }
  };
  const block = (b: Block): string => {
    switch (b.kind) {
      case "paragraph":
        return `<p>${b.children.map(inline).join("")}</p>`;
      case "quote":
        return `<quote>${b.children.map(block).join("")}</quote>`;
      case "code":
        return `<pre>${b.text}</pre>`;
      case "list":
        return `<list ${b.start ?? "-"}>${b.items.map((i) => `<li>${i.map(block).join("")}</li>`).join("")}</list>`;
    }
  };
  return parseMarkdown(text, opaque)?.map(block).join("");
}

test.each([
  ["**bold** and *it* or _it_, ~~gone~~ `a*b*c`", "<p><strong>bold</strong> and <em>it</em> or <em>it</em>, <del>gone</del> <code>a*b*c</code></p>"],
  ["***both*** **a *b* c**", "<p><em><strong>both</strong></em> <strong>a <em>b</em> c</strong></p>"],
  ["one\ntwo **b**\n\nthree", "<p>one\ntwo <strong>b</strong></p><p>three</p>"],
  ["```go\nif a {\n\n\t**b**\n}\n```\nafter", "<pre>if a {\n\n\t**b**\n}</pre><p>after</p>"],
  ["```\nnever closed", "<pre>never closed</pre>"],
  ["> quoted *a*\n> more\n\nanswer", "<quote><p>quoted <em>a</em>\nmore</p></quote><p>answer</p>"],
  ["> a\n> > b", "<quote><p>a</p><quote><p>b</p></quote></quote>"],
  ["> quoted\nanswer *a*\nmore", "<quote><p>quoted</p></quote><p>answer <em>a</em>\nmore</p>"],
  ["> quoted\n      answer", "<quote><p>quoted</p></quote><p>answer</p>"],
  ["> > a\n> b\nc", "<quote><quote><p>a</p></quote><p>b</p></quote><p>c</p>"],
  ["> a\n\n> b\nc\n> d", "<quote><p>a</p></quote><quote><p>b</p></quote><p>c</p><quote><p>d</p></quote>"],
  ["> **a\nb**", "<quote><p>**a</p></quote><p>b**</p>"],
  ["> - a\n> b", "<quote><list -><li><p>a</p></li></list><p>b</p></quote>"],
  ["- one\n- two\nafter", "<list -><li><p>one</p></li><li><p>two</p></li></list><p>after</p>"],
  ["- one\n- two\n  more\n   - in", "<list -><li><p>one</p></li><li><p>two\nmore</p><list -><li><p>in</p></li></list></li></list>"],
  ["3. three\n4. four", "<list 3><li><p>three</p></li><li><p>four</p></li></list>"],
  ["[a *page*](https://example.com/x_y_z)", "<p><a https://example.com/x_y_z>a <em>page</em></a></p>"],
  ["[a](https://example.com/b_(c))", "<p><a https://example.com/b_(c)>a</a></p>"],
  ["\\*not\\* *a*", "<p>*not* <em>a</em></p>"],
  ["https://example.com/a_b_c*d* *e*", "<p>https://example.com/a_b_c*d* <em>e</em></p>"],
  ["**https://example.com**", "<p><strong>https://example.com</strong></p>"],
  ["**中文。**后面**（对）**的", "<p><strong>中文。</strong>后面<strong>（对）</strong>的</p>"],
  ["snake_case_name 2*3*4 `x`", "<p>snake_case_name 2<em>3</em>4 <code>x</code></p>"],
])("%j", (text, want) => {
  expect(html(text)).toBe(want);
});

test("what is not Markdown in a chat stays as it was typed", () => {
  for (const text of ["hello", "# 1", "a\n===", "    four spaces", "---", "<b>bold</b>", "&amp; &lt;", "https://example.com/a"]) expect(html(text) ?? `<p>${text}</p>`).toBe(`<p>${text}</p>`);
});

test("there are no pictures, and no links but to web pages and to what their label says", () => {
  expect(html("![a](https://example.com/a.png)")).toBe("<p>!<a https://example.com/a.png>a</a></p>");
  for (const raw of ["[a](javascript:alert(1))", "[a](data:text/html,x)", "[a](//example.com)", "[a](file:///etc/passwd)", "[a](https:)", "[a]", "[a][b]", "[a](https://ex ample.com)", "[https://bank.com](https://evil.com)", "[**bank.com/login**](https://evil.com)", "[www.bank.com](https://bank.com.evil.com)", "[b**ank.com**](https://evil.com)", "[bank\\.com](https://evil.com)", "[Log in: https://bank.com](https://evil.com)", "[登录https://bank.com](https://evil.com)", "[evil.com,https://bank.com](https://evil.com)", "[evil.com@bank.com](https://evil.com)", "[bank。com。](https://evil.com)", "[..bank.com..](https://evil.com)"]) {
    expect(html(raw)).not.toContain("<a ");
  }
  for (const label of ["www.example.com", "see example.com/index.html, e.g. v1.25...", "见 example.com。", "https://example.com", "**exam*ple*.com**"]) {
    expect(html(`[${label}](https://example.com/x)`)).toContain("<a https://example.com/x>");
  }
});

test("mentions are left as they are", () => {
  const text = "@*star* and *@_b_*";
  expect(html(text, [{ from: 0, to: 7 }, { from: 13, to: 17 }])).toBe("<p>@*star* and <em>@_b_</em></p>");
});

test("emoji and characters beyond the first plane keep their places", () => {
  expect(html("👩‍👩‍👧 **𝒳 👍** 𝒴")).toBe("<p>👩‍👩‍👧 <strong>𝒳 👍</strong> 𝒴</p>");
});

test("a list shows a text without its marks", () => {
  expect(withoutMarks("**b** `c` [d](https://example.com)\n> q\n- i")).toBe("b c d\nq\ni");
  expect(withoutMarks("```\ncode *x*\n```")).toBe("code *x*");
  expect(withoutMarks("no marks")).toBe("no marks");
  expect(withoutMarks("@_ann_ *here*", [{ from: 0, to: 6 }])).toBe("@_ann_ here");
});

// 100,000 characters of any of these would take minutes in a parser without bounds. The sum of all is bounded by the test's timeout.
test("the work is bounded, and what would take too long is shown as it was typed", () => {
  const pieces = ["[", "*", "**", "_", "~~", "`", "> ", "- ", "[](", "[a](", "*a ", "**a ", "`a``b", "\\", "![", "](", "a*b_c~~d", "* * ", "1. ", "\n> ", "\n- ", "\n```", " ", "<", "&", "(", "http://", "*[", "_a_*"];
  for (const piece of pieces) {
    for (const length of [100_000, 20_000, 1_500]) {
      const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
      const shown = html(text);
      if (length === 100_000) expect(shown).toBeUndefined();
      expect(withoutMarks(text)).toBeTypeOf("string");
    }
  }
});

test("any text can be parsed, and is nested at most some levels", () => {
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const pieces = ["*", "**", "_", "~~", "`", "```", "\n", "\n\n", "> ", "- ", "1. ", "[", "](", ")", "a", " b ", "\\", "https://example.com/x", "你。", "👍", "  ", "\t", "\u0000", "\ue000"];
  const depth = (of: readonly (Block | Inline)[]): number => Math.max(0, ...of.map((c) => 1 + depth("children" in c ? c.children : "items" in c ? c.items.flat() : [])));
  for (let n = 0; n < 5_000; n++) {
    const text = Array.from({ length: random(40) }, () => pieces[random(pieces.length)]).join("");
    const blocks = parseMarkdown(text, addresses(text));
    expect(depth(blocks ?? [])).toBeLessThan(20);
    if (blocks) html(text);
  }
  expect(depth(parseMarkdown("> ".repeat(200) + "a", []) ?? [])).toBeLessThan(20);
});
