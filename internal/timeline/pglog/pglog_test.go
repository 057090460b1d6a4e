package pglog_test

import (
	"flag"
	"strconv"
	"testing"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pglog"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
)

func TestLog(t *testing.T) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given { // each operation is some round trips
		must(t, flag.Set("rapid.checks", strconv.Itoa(40*longer(t))))
	}
	server := sqltest.Postgres(t)
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		return open(t, sqltest.Schema(t, server), pglog.Options{Listener: listener, Readers: 1, Writers: 1})
	})
}
