package formula

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"

	"monolith"
)

// The fields of a row are written .field, which expr's parser reads only inside the predicate of one of its own
// functions. So the text of a scope is read as the predicate of one.
const (
	wrapBefore = "one(0,"
	wrapAfter  = "\n)" // the text may end with a comment
)

// scopedConfig is [parserConfig] with room for what is put around the text.
var scopedConfig = sync.OnceValue(func() *conf.Config {
	c := *parserConfig()
	c.MaxNodes += 3
	return &c
})

// syntax reads the text with expr's parser. before is by how many characters places in the tree, and in the error, are
// too far to the right.
func syntax(text string, scoped bool) (root ast.Node, before int, err error) {
	length := utf8.RuneCountInString(text)
	if !scoped {
		tree, err := parser.ParseWithConfig(text, parserConfig())
		if err != nil {
			return nil, 0, syntaxError(err, length)
		}
		return tree.Node, 0, nil
	}
	if err := escapes(text); err != nil {
		return nil, 0, err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, 0, wrong(strings.Index(text, "{"), "", "this is not part of the language")
	}
	tree, err := parser.ParseWithConfig(wrapBefore+text+wrapAfter, scopedConfig())
	if err != nil {
		var fe *file.Error
		if errors.As(err, &fe) && fe.From >= len(wrapBefore)+length {
			return nil, 0, wrong(length, "", "the formula ends too early")
		}
		return nil, len(wrapBefore), syntaxError(err, len(wrapBefore)+length)
	}
	if n, ok := tree.Node.(*ast.BuiltinNode); ok && len(n.Arguments) == 2 {
		if _, ok := n.Arguments[0].(*ast.IntegerNode); ok {
			if p, ok := n.Arguments[1].(*ast.PredicateNode); ok {
				return p.Node, len(wrapBefore), nil
			}
		}
	}
	return nil, 0, wrong(0, "", "this is not one expression")
}

// escapes refuses a text that would end what is put around it, or go on in it.
func escapes(text string) error {
	if !strings.ContainsAny(text, "),") {
		return nil
	}
	tokens, err := lexer.Lex(file.NewSource(text))
	if err != nil {
		return nil // the parser finds the same error
	}
	open, comma := 0, -1
	for _, t := range tokens {
		switch {
		case t.Is(lexer.EOF):
			continue
		case t.Is(lexer.Bracket, "("):
			open++
		case t.Is(lexer.Bracket, ")"):
			if open--; open < 0 {
				return wrong(t.From, "", "there is one ) too many")
			}
		}
		comma = -1
		if t.Is(lexer.Operator, ",") {
			comma = t.From
		}
	}
	if comma >= 0 {
		return wrong(comma, "", "the formula ends with a comma")
	}
	return nil
}

// moveBack corrects the place of an error.
func moveBack(err error, by int) error {
	var invalid *monolith.InvalidError
	if by > 0 && errors.As(err, &invalid) {
		invalid.Column = max(invalid.Column-by, 1)
	}
	return err
}
