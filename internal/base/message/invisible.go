package message

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// joining are the scripts whose letters change with a joiner (U+200D) or a non-joiner (U+200C) between them.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Mongolian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Tibetan, unicode.Myanmar, unicode.Khmer, unicode.Balinese,
	unicode.Javanese, unicode.Sundanese, unicode.Chakma, unicode.Meetei_Mayek, unicode.Newa, unicode.Tirhuta, unicode.Grantha,
	unicode.Sharada, unicode.Kaithi, unicode.Khojki, unicode.Modi, unicode.Syloti_Nagri, unicode.Saurashtra,
}

// viramas join the previous letter to the next one; a joiner after them selects the form, also at the end of a word (as in Malayalam).
const viramas = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"

func isJoining(r rune) bool {
	arabicMark := r >= '\u064b' && r <= '\u0655' || r == '\u0670' // shared with other scripts
	return arabicMark || unicode.In(r, joining...) && unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// isEmoji reports whether a character is a symbol that can have a selector, or be joined with others. New emoji are in the last range.
func isEmoji(r rune) bool {
	return unicode.Is(unicode.So, r) && !strings.ContainsRune(blank, r) || unicode.Is(unicode.Sm, r) && r > unicode.MaxASCII ||
		strings.ContainsRune("\u203c\u2049\u2139\u3030", r) || r >= '\U0001f000' && r <= '\U0001faff'
}

const (
	nonJoiner, joiner = '\u200c', '\u200d'
	emojiStyle        = '\ufe0f'
	keycap            = '\u20e3'
	blackFlag         = '\U0001f3f4'
	endTag            = '\U000e007f'
)

// isInvisible reports whether a character shows nothing by itself, or differs between devices. Some are part of visible ones: see
// invisibleNeeded.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || unicode.In(r, unicode.Co,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) || strings.ContainsRune(blank, r)
}

// hasInvisible reports whether a text has an invisible character without effect on what is seen.
func hasInvisible(text string) bool {
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !isInvisible(runes[i]) {
			i++
			continue
		}
		n := invisibleNeeded(runes, i)
		if n == 0 {
			return true
		}
		i += n
	}
	return false
}

// invisibleNeeded returns how many invisible characters from i on are part of an emoji, or of the adjacent letters; 0 if none is.
func invisibleNeeded(runes []rune, i int) int {
	if i == 0 {
		return 0
	}
	r, before, after := runes[i], runes[i-1], rune(0)
	if i+1 < len(runes) {
		after = runes[i+1]
	}
	needed := false
	switch {
	case r == joiner && isEmoji(after):
		needed = isEmoji(before) || before == emojiStyle || before == endTag
	case r == joiner || r == nonJoiner:
		needed = isJoining(before) && isJoining(after) || strings.ContainsRune(viramas, before)
	case r == '\ufe0e' || r == emojiStyle:
		needed = isEmoji(before) || after == keycap && strings.ContainsRune("0123456789#*", before)
	case r >= '\ufe00' && r <= '\ufe02' || r >= '\U000e0100' && r <= '\U000e01ef': // forms of Chinese characters
		needed = unicode.Is(unicode.Han, before)
	case r >= '\u180b' && r <= '\u180f': // forms of letters, and the separator before a last vowel
		needed = unicode.Is(unicode.Mongolian, before) && unicode.IsLetter(before)
	case before == blackFlag:
		return flagTags(runes[i:])
	}
	if needed {
		return 1
	}
	return 0
}

// flagTags returns how many tags follow a black flag and turn it into that of a region, such as Scotland (gbsct); 0 if they do not.
func flagTags(runes []rune) int {
	const shift = 0xe0000 // from a letter or digit to its tag
	n := 0
	for n < len(runes) && (runes[n] >= shift+'a' && runes[n] <= shift+'z' || runes[n] >= shift+'0' && runes[n] <= shift+'9') {
		n++
	}
	if n < 3 || n > 6 || n == len(runes) || runes[n] != endTag {
		return 0
	}
	return n + 1
}

// CleanName returns what is left of a text as a name (IsName), in at most a number of characters: what a name may not have is left out, and line breaks become spaces. It is empty if nothing is left to see.
func CleanName(text string, most int) string {
	var kept []rune
	marks := 0
	for _, r := range norm.NFD.String(strings.ToValidUTF8(text, "")) {
		switch {
		case isLineBreak(r) || r == '\t':
			kept = append(kept, ' ')
		case isForbidden(r) || r == utf8.RuneError:
			continue
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks <= maxMarks {
				kept = append(kept, r)
			}
			continue
		default:
			kept = append(kept, r)
		}
		if !unicode.In(r, unicode.Mc, unicode.Cf) {
			marks = 0
		}
	}
	name := []rune(strings.Join(strings.Fields(withoutInvisible([]rune(norm.NFC.String(string(kept))))), " "))
	cleaned := withoutInvisible(name[:min(len(name), most)]) // the end of an emoji may have gone
	if cleaned = strings.TrimSpace(cleaned); !IsName(cleaned) {
		return ""
	}
	return cleaned
}

// withoutInvisible leaves out the invisible characters that are not part of an emoji or of a word.
func withoutInvisible(text []rune) string {
	var kept []rune
	for i := 0; i < len(text); {
		n := 1
		if isInvisible(text[i]) {
			if n = invisibleNeeded(text, i); n == 0 {
				i++
				continue
			}
		}
		kept = append(kept, text[i:i+n]...)
		i += n
	}
	return string(kept)
}
