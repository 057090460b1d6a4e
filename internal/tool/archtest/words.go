package archtest

import (
	"go/ast"
	"regexp"
	"strings"
	"unicode"
)

var letters = regexp.MustCompile(`[A-Za-z]+`)

// checkWords finds words without a standard meaning in identifiers and comments.
func checkWords(f file, rules Rules, report reporter) {
	check := func(text string, line int) {
		for _, word := range wordsOf(text) {
			if instead, ok := rules.Words[word]; ok {
				report(f, line, "%q is not a term of this field; write %s", word, instead)
			}
		}
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			check(id.Name, f.line(id.Pos()))
		}
		return true
	})
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			first := f.line(c.Pos())
			for i, line := range strings.Split(c.Text, "\n") {
				for _, word := range letters.FindAllString(line, -1) {
					check(word, first+i)
				}
			}
		}
	}
}

// wordsOf splits an identifier in camel case or with underscores into its words, in lower case.
func wordsOf(name string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}
