package inbox

import "testing"

// A page's token is read as it was written; any other text is refused, or a place like any other.
func FuzzPage(f *testing.F) {
	f.Add("")
	f.Add("AQAAAAAAAAABAAAAAAAAAAI")
	f.Add("AP__________AAAAAAAAAAA")
	f.Add("AgAAAAAAAAABAAAAAAAAAAI")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseToken(text)
		if err != nil {
			return
		}
		again, err := parseToken(token(r))
		if err != nil || again.Conversation != r.Conversation || again.lastMs != r.lastMs || again.view.state.Pinned != r.view.state.Pinned {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}
