// Package zap stands in for a segment format of Bleve that no index of ours has.
package zap

import zap "github.com/blevesearch/zapx/v11"

// ZapPlugin is what v11 has.
type ZapPlugin = zap.ZapPlugin
