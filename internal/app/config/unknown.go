package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/commandline"
)

const seeReference = "rialto check --reference lists them"

// replaced has settings of earlier versions, each with what to do instead.
var replaced = map[string]string{
	"search.recency_weight":    "set the weight search_recency, in the console or by SetRankingWeights",
	"search.popularity_weight": "set the weight search_popularity, in the console or by SetRankingWeights",
}

// unknown says that a name, as rename writes those of settings, is no setting, and which one it may be meant to be, or what has replaced it.
func (s settable) unknown(name string, rename func(string) string) string {
	for former, instead := range replaced {
		if rename(former) == name {
			return "is no setting any more: remove it, and " + instead
		}
	}
	names := make([]string, len(s.names))
	for i, n := range s.names {
		names[i] = strings.ToLower(rename(n)) // as Nearest compares them
	}
	if i := slices.Index(names, commandline.Nearest(name, names)); i >= 0 {
		return fmt.Sprintf("is no setting; did you mean %q? %s", rename(s.names[i]), seeReference)
	}
	return "is no setting; " + seeReference
}

func dotted(name string) string { return name }
