package terminal

import (
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func TestCompleteLines(t *testing.T) {
	for _, c := range []struct {
		text string
		from int
		want string
	}{{"", 0, ""}, {"one", 0, ""}, {"one\ntw", 0, "one\n"}, {"one\ntwo\nthree", 4, "two\n"}, {"one\n", 4, ""}, {"a", 5, ""}} {
		if got := completeLines(c.text, c.from); got != c.want {
			t.Errorf("of %q from %d on, %q is complete, not %q", c.text, c.from, got, c.want)
		}
	}
}

func TestWhatTheSenderDoes(t *testing.T) {
	for want, u := range map[string]*chatv1.StreamedText{
		"":                 {Text: "x"},
		"thinks …":         {State: chatv1.WritingState_WRITING_STATE_THINKING},
		"thinks: of x":     {State: chatv1.WritingState_WRITING_STATE_THINKING, Note: "of x"},
		"uses a tool …":    {State: chatv1.WritingState_WRITING_STATE_TOOL},
		"uses [2Jsearch …": {State: chatv1.WritingState_WRITING_STATE_TOOL, Note: "\x1b[2Jsearch"},
	} {
		if got := doingOf(u); got != want {
			t.Errorf("%v is told as %q, not %q", u, got, want)
		}
	}
}

func TestMarksOfStreamedMessages(t *testing.T) {
	for want, m := range map[string]*chatv1.Message{
		"":               {EditSeq: 3, Content: &chatv1.Content{}}, // its end is no edit
		"  (edited)":     {EditSeq: 3, EditedMs: 1, Content: &chatv1.Content{}},
		"  (stopped)":    {EditSeq: 3, Content: &chatv1.Content{BrokenOff: &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_STOPPED}}},
		"  (broken off)": {EditSeq: 3, Content: &chatv1.Content{BrokenOff: &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_LOST}}},
	} {
		if got := updateMarks(m); got != want {
			t.Errorf("%v is marked %q, not %q", m, got, want)
		}
	}
}
