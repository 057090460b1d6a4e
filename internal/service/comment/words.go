package comment

import commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"

// Words is the filter of words for the texts of comments. Its methods do not block.
type Words interface {
	// CheckText fails if the texts contain a refused word. It returns a word that flags them, or "".
	CheckText(texts ...string) (flagged string, err error)
	// FlagComment reports that a comment with such a word was stored.
	FlagComment(c *commentv1.Comment, word string)
}

// checkWords checks the words of a comment.
func (s *Service) checkWords(c *commentv1.CommentContent) (flagged string, err error) {
	if s.deps.Words == nil {
		return "", nil
	}
	return s.deps.Words.CheckText(c.GetText())
}

// flagged reports a stored comment to the moderators if it has a flagging word, and returns it.
func (s *Service) flagged(c *commentv1.Comment, err error) (*commentv1.Comment, error) {
	if err != nil {
		return nil, err
	}
	if word, refused := s.checkWords(c.Content); refused == nil && word != "" {
		s.deps.Words.FlagComment(c, word)
	}
	return c, nil
}
