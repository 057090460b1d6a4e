package pglink_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

func TestSecurityOfAnAddress(t *testing.T) {
	for _, name := range []string{"PGSSLMODE", "PGHOST", "PGSSLROOTCERT", "PGSERVICE", "PGPORT"} {
		t.Setenv(name, "")
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	const plain, unverified, verified = pglink.Plain, pglink.Unverified, pglink.Verified
	for address, want := range map[string]pglink.Security{
		"postgres://db/rialto":                                                 plain,
		"postgres://db/rialto?sslmode=disable":                                 plain,
		"postgres://db/rialto?sslmode=allow":                                   plain,
		"postgres://db/rialto?sslmode=prefer":                                  plain,
		"postgres://db/rialto?sslmode=require":                                 unverified,
		"postgres://db/rialto?sslmode=verify-ca&sslrootcert=" + ca:             unverified,
		"postgres://db/rialto?sslmode=verify-full":                             verified,
		"postgresql://db/rialto?sslmode=verify-full":                           verified,
		"postgres://10.0.0.1/rialto":                                           plain,
		"postgres://127.0.0.1/rialto":                                          verified,
		"postgres://127.0.0.1/rialto?sslmode=require":                          verified,
		"postgres://[::1]/rialto":                                              verified,
		"postgres://localhost/rialto":                                          verified,
		"postgres:///rialto?host=/var/run/postgresql":                          verified,
		"postgres://localhost.example.com/rialto":                              plain,
		"postgres://127.0.0.1,db/rialto":                                       plain,
		"postgres://db,127.0.0.1/rialto":                                       plain,
		"postgres:///rialto?host=/run,db":                                      plain,
		"postgres://a,b,c/rialto?sslmode=require":                              unverified,
		"postgres://a,b,c/rialto?sslmode=verify-full":                          verified,
		"postgres://rialto@/rialto?host=a,b&sslmode=verify-full":               verified,
		"host=db dbname=rialto":                                                plain,
		"host=db dbname=rialto sslmode=require":                                unverified,
		"host=a,b port=1,2 dbname=rialto sslmode=verify-full":                  verified,
		"host=/run/postgresql dbname=rialto":                                   verified,
		"postgres://db/rialto?sslmode=require&target_session_attrs=read-write": unverified,
	} {
		if got, _, err := pglink.SecurityOf(address); err != nil || got != want {
			t.Errorf("security of %s: got %d, %v, want %d", address, got, err, want)
		}
	}
	for address, want := range map[string]string{
		"postgres://127.0.0.1,b,a,b/rialto":                                "b a",
		"postgres://a,b/rialto?sslmode=require":                            "a b",
		"host=db dbname=rialto password=canary":                            "db",
		"postgres://a/rialto?sslmode=verify-full&target_session_attrs=any": "",
	} {
		if _, hosts, err := pglink.SecurityOf(address); err != nil || strings.Join(hosts, " ") != want {
			t.Errorf("hosts of %s: got %q, want %q (%v)", address, hosts, want, err)
		}
	}
	t.Setenv("PGSSLMODE", "verify-full")
	if got, _, err := pglink.SecurityOf("postgres://db/rialto"); err != nil || got != verified {
		t.Errorf("with PGSSLMODE: got %d, %v", got, err)
	}
	for _, bad := range []string{"postgres://rialto:canary@db/rialto?sslmode=verify-full&sslrootcert=/none", "postgres://rialto:canary@db/rialto?sslmode=yes", "postgres://rialto:canary@db:port/rialto"} {
		if _, _, err := pglink.SecurityOf(bad); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("invalid address %s: got %v, want an error without the password", bad, err)
		}
	}
}

// certificate that belongs to nobody.
const certificate = `-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUIBFJ3f7sDklGn/LkYkB2Ci4XGEQwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjIxMjU2MjJaGA8yMTI2MTAyOTEyNTYy
MlowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOil
RY3rzdhsmR/rJ5gcveODDLy65wUXK+gOe9QfCEfqwc8cOQb6HXp4wDr5FYcjOn4r
hJzvA1PIIErYecBoZf6jUzBRMB0GA1UdDgQWBBSmm798QRjux1W65oemTThawGlJ
5jAfBgNVHSMEGDAWgBSmm798QRjux1W65oemTThawGlJ5jAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCID0Rvhc89uGlTp2+eGOxrEyLOldKEjvZs4Uo
hRBzvtODAiBIauPYPk4tNYoluRJDzWBqZ6gSGpV9RFu/NxfLRblx5w==
-----END CERTIFICATE-----
`
