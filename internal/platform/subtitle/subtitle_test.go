package subtitle_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/subtitle"
)

// convert returns the cues of a file as WebVTT.
func convert(t *testing.T, file string) string {
	t.Helper()
	got, n, err := subtitle.Convert(file)
	if err != nil {
		t.Fatalf("%v: %q", err, file)
	}
	cues, ok := strings.CutPrefix(got, "WEBVTT\n\n")
	if !ok || strings.Count(cues, " --> ") != n {
		t.Fatalf("%d cues in %q", n, got)
	}
	return cues
}

const times = "00:00:01.000 --> 00:00:02.000\n"

// TestWebVTT: of a WebVTT file pass the cues, in the order of their times, with valid settings.
func TestWebVTT(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"names and short times":        {"WEBVTT - title\nKind: captions\n\nfirst\n00:01.000 --> 00:02.000\none\n\n\n2\n00:00:03.000 --> 00:00:04.000\ntwo\nlines\n", times + "one\n\n00:00:03.000 --> 00:00:04.000\ntwo\nlines\n"},
		"line ends and a mark":         {"\ufeffWEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\none\r\rNOTE x", times + "one\n"},
		"the order of times":           {"WEBVTT\n\n00:03.000 --> 00:04.000\nlater\n\n" + times + "sooner", times + "sooner\n\n00:00:03.000 --> 00:00:04.000\nlater\n"},
		"no styles, regions and notes": {"WEBVTT\n\nSTYLE\n::cue { background: url(http://x) }\n\nREGION\nid:a\n\nNOTE a\nb\n\nNOTE\n\n" + times + "one", times + "one\n"},
		"settings": {"WEBVTT\n\n00:01.000 --> 00:02.000 align:start  line:0 position:10.5%,line-left size:35%\nx\n\n00:01.000 --> 00:02.000 region:a align:middle line:9999999 size:101% onclick:x line:5% line:7%\nx",
			"00:00:01.000 --> 00:00:02.000 align:start line:0 position:10.5%,line-left size:35%\nx\n\n00:00:01.000 --> 00:00:02.000 line:5%\nx\n"},
		"nothing to see": {"WEBVTT\n\n00:01.000 --> 00:02.000\n\n00:01.000 --> 00:02.000\n<i> </i>\n\n" + times + "x", times + "x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := convert(t, c.file); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}

// TestMarkup: tags of WebVTT pass, closed in their order. Everything else is text, or left out.
func TestMarkup(t *testing.T) {
	for from, want := range map[string]string{
		"<b>a <i>b</b> c</i>":                        "<b>a <i>b</i></b> c",
		"<c.yellow.bg_blue>a":                        "<c.yellow.bg_blue>a</c>",
		"<c.x\"y.ok>a</c>":                           "<c.ok>a</c>",
		"<v.loud Ann &amp; Ben>hi":                   "<v.loud Ann &amp; Ben>hi</v>",
		"<v>hi</v>":                                  "hi",
		"<lang en-GB>hi</lang><lang a b>x":           "<lang en-GB>hi</lang>x",
		"<ruby>a<rt>b</rt></ruby><rt>c":              "<ruby>a<rt>b</rt></ruby>c",
		"<00:00:01.500>a":                            "<00:00:01.500>a",
		"I <3 you > me & them":                       "I &lt;3 you &gt; me &amp; them",
		"a <b":                                       "a &lt;b",
		"a --> b":                                    "a --&gt; b",
		"<script>alert(1)</script>":                  "alert(1)",
		"<img src=x onerror=alert(1)>a":              "a",
		"<i onclick=alert(1)>a</i>":                  "<i>a</i>",
		"&lt;img src=x&gt; &#60;b&#62; &zz;":         "&lt;img src=x&gt; &lt;b&gt; &amp;zz;",
		"a&#10;&#0;&#x1b;b&nbsp;c":                   "a\ufffdb\u00a0c",
		"a\n<font>\n  \nb":                           "a\nb",
		"<b>" + strings.Repeat("<i>", 20) + "a</b>b": "<b>" + strings.Repeat("<i>", 7) + "a" + strings.Repeat("</i>", 7) + "</b>b",
	} {
		if got := convert(t, "WEBVTT\n\n"+times+from); got != times+want+"\n" {
			t.Errorf("%q becomes %q, want %q", from, got, want)
		}
	}
}

// TestSRT: an SRT file becomes WebVTT.
func TestSRT(t *testing.T) {
	file := "1\r\n00:00:01,000 --> 00:00:02,5 X1:1 X2:2\r\n{\\an8}<I>one</I> <font color=\"red\">red</font>\r\n \r\n00:00:03.000-->00:00:04,000\r\n2 < 3 &amp; <00:00:01.000>\r\n\r\n\r\n3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
	want := "00:00:01.000 --> 00:00:02.500\n<i>one</i> red\n\n00:00:03.000 --> 00:00:04.000\n2 &lt; 3 &amp;amp; \n"
	if got := convert(t, file); got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}

// TestRefused: what is no file of subtitles, or too large, is refused with the line.
func TestRefused(t *testing.T) {
	var long strings.Builder
	for n := range 10_001 {
		long.WriteString(strconv.Itoa(n) + "\n00:00:01,000 --> 00:00:02,000\nx\n\n")
	}
	for _, c := range []struct{ file, want string }{
		{"", "texts"}, {"WEBVTT", "texts"}, {"WEBVTT\n\nNOTE x", "texts"},
		{"hello", "line 1"}, {"1\nhello", "line 2"}, {"7", "line 1"}, {"WEBVTTx\n\n" + times + "x", "line 1"},
		{"WEBVTT\n" + times + "x", "line 2"}, {"WEBVTT\n\nname\nother\n" + times + "x", "line 4"}, {"WEBVTT\n\nname", "line 4"},
		{"WEBVTT\n\n00:00:01,000 --> 00:00:02,000\nx", "line 3"}, {"WEBVTT\n\n00:61.000 --> 00:62.000\nx", "line 3"},
		{"1\n00:00:02,000 --> 00:00:02,000\nx", "ends after"}, {"1\n-00:00:01,000 --> 00:00:02,000\nx", "line 2"}, {"1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9", "UTF-8"}, {"1\n00:00:02,000 --> 25:00:02,000\nx", "24 hours"},
		{"1\n00:00:01,000 --> 00:00:02,000\n\nx", "line 4"}, {"1\n00:00:01,000 --> 00:00:02,000 x\nx", "line 2"},
		{"1\n00:00:01,000 --> 00:00:02,000\n" + strings.Repeat("x\n", 11), "10 lines"}, {"1\n00:00:01,000 --> 00:00:02,000\n" + strings.Repeat("é", 501), "500 characters"},
		{"WEBVTT\n\n" + times + "a\x00b", "UTF-8"}, {"WEBVTT\n\n" + times + "a\x1b", "UTF-8"}, {"\xff\xfe1\x00", "UTF-8"},
		{strings.Repeat("\n", subtitle.MaxBytes+1), "KiB"}, {long.String(), "texts"},
	} {
		if _, _, err := subtitle.Convert(c.file); errs.Of(err).Reason != "bad_subtitles" || !strings.Contains(errs.Of(err).Message, c.want) {
			t.Errorf("%.80q is answered with %v, want %q", c.file, err, c.want)
		}
	}
	if got := convert(t, "1\n00:00:01,000 --> 00:00:02,000\n"+strings.Repeat("é", 500)); len(got) < 1000 {
		t.Errorf("a line of 500 characters becomes %q", got)
	}
}

// safe is all that a result may have.
var safe = regexp.MustCompile(`^WEBVTT\n(?:\n\d\d:\d\d:\d\d\.\d{3} --> \d\d:\d\d:\d\d\.\d{3}(?: (?:vertical|line|position|size|align):[a-z0-9.,%-]+)*\n(?:(?:[^<>&\n]|&amp;|&lt;|&gt;|</?(?:b|i|u|c|ruby|rt|v|lang)(?:\.[A-Za-z0-9_-]+)*(?: (?:[^<>&\n]|&amp;|&lt;|&gt;)+)?>|<[0-9:.]+>)+\n)+)+$`)

// FuzzConvert: no file makes the server fail or work long. The result is safe, bounded, and the same when it is converted again.
func FuzzConvert(f *testing.F) {
	for _, text := range []string{"one", "<b>a <i>b</b> c</i>", "<v Ann>a\n<c.x>b</c> &amp; <00:00:01.500>", "a --> b & <script>", "&#10;&#x80;\n\n<"} {
		f.Add("WEBVTT\n\nNOTE x\n\n" + times + text)
		f.Add("1\n00:00:01,000 --> 00:00:02,000\n" + text)
	}
	f.Fuzz(func(t *testing.T, file string) {
		got, n, err := subtitle.Convert(file)
		if err != nil {
			if errs.Of(err).Reason != "bad_subtitles" {
				t.Errorf("%q is answered with %v", file, err)
			}
			return
		}
		if n < 1 || strings.Count(got, " --> ") != n || len(got) > 2*subtitle.MaxBytes || !safe.MatchString(got) {
			t.Errorf("%q becomes %q", file, got)
		}
		again, m, err := subtitle.Convert(got)
		if err != nil {
			if message := errs.Of(err).Message; !strings.Contains(message, "characters") && !strings.Contains(message, "KiB") {
				t.Errorf("%q becomes %q, which is answered with %v", file, got, err)
			}
			return
		}
		if again != got || m != n {
			t.Errorf("%q becomes %q, and then %q", file, got, again)
		}
	})
}
