package apptest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
)

// Where a node ends TLS itself, its certificate need not be valid for the address by which other nodes reach it: the canary knows it by its fingerprint.
func TestACanaryKnowsTheCertificateOfANode(t *testing.T) {
	h := apptest.OpenTLS(t, func(c *config.Config) { c.Canary.Off, c.Canary.Interval = false, 100*time.Millisecond })
	eventually.True(t, "probes are delivered", func() bool {
		r, err := http.Get("http://" + h.AdminAddress().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "rialto_canary_delay_seconds_count{") {
				return !strings.HasSuffix(line, " 0\n")
			}
		}
		return false
	})
}
