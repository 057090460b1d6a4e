package other

import (
	"testing"
	"time"
)

func TestNothing(t *testing.T) {
	time.Sleep(time.Second)
	t.Skip("not today")
}
