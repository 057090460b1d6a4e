package linkpreview_test

import (
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/linkpreview"
)

// Whatever a page is, the texts of its preview are short lines that may stand among others.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`<title>a</title><meta property="og:title" content="b">`), "text/html")
	f.Add([]byte("<meta charset=utf-16><title>\xff\xfe\x00</title>"), "text/html; charset=gbk")
	f.Add([]byte("<title>a\u202e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301&#x202e;&#0;\u2028b</title>"), "text/html; charset=x")
	f.Add([]byte("<script><title>a</script><!--<title>b"), "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		title, description, site, _ := linkpreview.Texts(body, contentType)
		for _, c := range []struct {
			text string
			most int
		}{{title, 200}, {description, 400}, {site, 80}} {
			if n := utf8.RuneCountInString(c.text); !message.IsLine(c.text) || n > c.most {
				t.Errorf("%q has %d characters, at most %d, or is no line", c.text, n, c.most)
			}
		}
	})
}
