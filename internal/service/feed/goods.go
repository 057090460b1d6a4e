package feed

import (
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/base/message"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Limits of the goods of a post.
const (
	maxGoods     = 10
	maxGoodsName = 120 // characters
	maxPrice     = 999_999_999_999
)

var (
	errGoods      = badPost(fmt.Sprintf("a post has at most %d goods, each with a name in one line of at most %d characters%s", maxGoods, maxGoodsName, message.TextRule))
	errPrice      = badPost(fmt.Sprintf("a price is at most %d of the smallest unit of a currency, which is three capital letters, such as EUR", maxPrice))
	errGoodsImage = badPost(fmt.Sprintf("a picture of goods has the id of its upload, a name in one line of at most %d characters, and no caption%s", message.MaxImageName, message.TextRule))
	errGoodsLink  = badPost(fmt.Sprintf("the link of goods begins with https:// and has at most %d characters", maxLink))
)

// storedGoods returns goods as they are stored: without unknown fields.
func storedGoods(sent []*feedv1.Goods) (stored []*feedv1.Goods) {
	for _, g := range sent[:min(len(sent), maxGoods+1)] { // one too many is refused
		s := &feedv1.Goods{Name: g.GetName(), PriceMinor: g.GetPriceMinor(), Currency: g.GetCurrency(), Link: g.GetLink()}
		if m := g.GetPicture(); m != nil {
			s.Picture = message.StoredImage(m)
		}
		stored = append(stored, s)
	}
	return stored
}

func checkGoods(list []*feedv1.Goods) error {
	if len(list) > maxGoods {
		return errGoods
	}
	for _, g := range list {
		switch {
		case g.Name == "" || !message.IsText(g.Name, maxGoodsName, message.IsLine):
			return errGoods
		case g.PriceMinor > maxPrice || !isCurrency(g.Currency):
			return errPrice
		case g.Picture != nil && !message.IsImage(g.Picture):
			return errGoodsImage
		case !strings.HasPrefix(g.Link, "https://") || !isShortLink(g.Link):
			return errGoodsLink
		}
	}
	return nil
}

// isCurrency reports whether a text has the form of a code by ISO 4217. Currencies come and go: which ones exist is for those who pay.
func isCurrency(code string) bool {
	return len(code) == 3 && !strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' })
}
