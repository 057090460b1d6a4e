package other

import (
	"testing"
	"time"
)

func BenchmarkNothing(*testing.B) { time.Sleep(time.Second) }
