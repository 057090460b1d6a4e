package commandline_test

import (
	"flag"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/commandline"
)

func TestTheNearestCommand(t *testing.T) {
	names := []string{"serve", "check", "chat", "search", "restore", "repair", "id", "timelines"}
	for word, want := range map[string]string{
		"serch": "search", "saerch": "search", "sarch": "search", "Serve": "serve", "chta": "chat", "chatt": "chat", "chekc": "check", "repare": "repair", "timeline": "timelines", "ids": "id",
		"rest": "restore", "x": "", "": "", "deploy": "", "i": "id", strings.Repeat("serve", 1000): "",
	} {
		if got := commandline.Nearest(word, names); got != want {
			t.Errorf("%.20q is taken for %q, want %q", word, got, want)
		}
	}
	if got, want := commandline.Unknown("serch", names), `unknown command "serch"; did you mean "search"?`; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	if got, want := commandline.Unknown("deploy", names), `unknown command "deploy"`; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

// A number that is given is within its range, also 0 where 0 stands for a default. Help names defaults that are none.
func TestNumbersHaveRanges(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"1", ""}, {"1,000", ""}, {"1000", ""}, {"0", "the number must be from 1 to 1000"}, {"-5", "from 1 to 1000"}, {"1001", "from 1 to 1000"}, {"ten", "give a number from 1 to 1000"},
	} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		var batch, rate int
		commandline.Int(fs, &batch, "batch", 0, 1, 1000, "`rows`")
		commandline.Int(fs, &rate, "rate", 20, 1, math.MaxInt, "`rows` a second")
		var args []string
		if c.text != "" {
			args = []string{"--batch", c.text}
		}
		err := fs.Parse(args)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "-batch")) {
			t.Errorf("--batch %s: %v, want %q", c.text, err, c.want)
		}
		if err := fs.Parse([]string{"--rate", "0"}); err == nil || !strings.Contains(err.Error(), "the number must be at least 1") {
			t.Errorf("--rate 0: %v", err)
		}
		var help strings.Builder
		fs.SetOutput(&help)
		fs.PrintDefaults()
		if strings.Contains(help.String(), "default 0") || !strings.Contains(help.String(), "(default 20)") {
			t.Errorf("the help is %s", &help)
		}
	}
}
