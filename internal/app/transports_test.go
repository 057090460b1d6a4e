package app

import (
	"testing"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/message"
)

// A cluster hints followers of texts that were stored before PushWindow. A single node pushes texts of any age.
func TestOnlyAClusterHintsOfOldTexts(t *testing.T) {
	cluster := &Node{config: &config.Config{Postgres: "postgres://127.0.0.1/rialto"}}
	if got := cluster.pushWithin(); got != message.PushWindow {
		t.Errorf("a cluster pushes texts within %v, want %v", got, message.PushWindow)
	}
	if got := (&Node{config: &config.Config{}}).pushWithin(); got != 0 {
		t.Errorf("a single node pushes texts within %v, want any age (0)", got)
	}
}
