package terminal

import (
	"regexp"
	"strings"
)

// optionPattern matches an option that begins a text: one of some names, which are divided by |, and a value without spaces or in quotes, as filters have in a search.
func optionPattern(names string) *regexp.Regexp {
	return regexp.MustCompile(`^(` + names + `):("[^"]*"|[^\s"]+)(?:\s+|$)`)
}

// cutOptions divides the options that begin a text, as names and values in their order, from what is behind them.
func cutOptions(pattern *regexp.Regexp, text string) (options [][2]string, rest string) {
	for {
		m := pattern.FindStringSubmatch(text)
		if m == nil {
			return options, text
		}
		options, text = append(options, [2]string{m[1], strings.Trim(m[2], `"`)}), text[len(m[0]):]
	}
}
