package rialto_test

import (
	"errors"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

type poll struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

func TestCustomKinds(t *testing.T) {
	var kinds rialto.CustomKinds
	custom := func(customType, data string) *chatv1.Custom {
		return &chatv1.Custom{Type: customType, Data: []byte(data), Fallback: "a poll"}
	}
	valid := custom("app.example/poll", `{"question":"Lunch?","options":["yes","no"]}`)
	if _, err := kinds.Decode(valid); !errors.Is(err, rialto.ErrUnknownKind) || kinds.Text(valid) != "a poll" {
		t.Errorf("without a kind: %v, %q", err, kinds.Text(valid))
	}
	rialto.RegisterKind(&kinds, "app.example/poll", nil, func(p poll) string { return "Poll: " + p.Question })
	rialto.RegisterKind(&kinds, "app.example/bytes", func(data []byte) (int, error) { return len(data), nil }, nil)
	if value, err := kinds.Decode(valid); err != nil || value.(poll).Options[1] != "no" || kinds.Text(valid) != "Poll: Lunch?" {
		t.Errorf("a poll is %v, %v, %q", value, err, kinds.Text(valid))
	}
	if value, err := kinds.Decode(custom("app.example/bytes", "abc")); err != nil || value != 3 || kinds.Text(custom("app.example/bytes", "abc")) != "a poll" {
		t.Errorf("bytes are %v, %v", value, err)
	}
	broken := custom("app.example/poll", `{"question":`)
	if value, err := kinds.Decode(broken); err == nil || errors.Is(err, rialto.ErrUnknownKind) || kinds.Text(broken) != "a poll" {
		t.Errorf("data that is not valid: %v, %v, %q", value, err, kinds.Text(broken))
	}
	rialto.RegisterKind(&kinds, "app.example/poll", nil, func(map[string]any) string { return "replaced" })
	if kinds.Text(valid) != "replaced" {
		t.Errorf("a kind that was registered again says %q", kinds.Text(valid))
	}
}
