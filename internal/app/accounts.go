package app

import (
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/service/account"
)

// accountSettings returns the settings of accounts. Where none are set, passkeys belong to the public URL, unless there are several nodes, whose URLs differ.
func accountSettings(c *config.Config) account.Config {
	a := c.Account
	if len(a.PasskeyOrigins) == 0 && !c.Clustered() && account.CanHavePasskeys(c.Public.URL) {
		a.PasskeyOrigins = []string{c.Public.URL}
	}
	return a
}
