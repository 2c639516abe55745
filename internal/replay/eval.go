package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// selected computes a SELECT from recorded rows of one table: a list of the expressions that a monitor uses, with
// COUNT and SUM over a GROUP BY. ok is false for what is more than that, such as a WHERE.
func selected(statement string, table *Result) (result *Result, ok bool) {
	list, rest := cutFrom(statement)
	upper := strings.ToUpper(rest)
	if strings.Contains(upper, " WHERE ") || strings.Contains(upper, " JOIN ") || strings.Contains(upper, " LIMIT ") {
		return nil, false
	}
	list = list[len("SELECT "):]
	distinct := strings.HasPrefix(strings.ToUpper(list), "DISTINCT ")
	if distinct {
		list = list[len("DISTINCT "):]
	}
	expressions := selectList(list)
	result = &Result{}
	for _, e := range expressions {
		result.Columns = append(result.Columns, Column{Name: e.alias})
	}
	var by []expression
	if _, columns, found := strings.Cut(upper, " GROUP BY "); found {
		by = selectList(columns)
	}
	var groups [][]Row
	place := map[string]int{}
	for i, row := range table.Rows {
		key := strconv.Itoa(i)
		if by != nil {
			key = ""
			for _, e := range by {
				v, err := evaluate(e.text, table.Columns, []Row{row})
				if err != nil {
					return nil, false
				}
				key += string(v) + "\x00"
			}
		}
		at, there := place[key]
		if !there {
			at = len(groups)
			place[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], row)
	}
	seen := map[string]bool{}
	for _, rows := range groups {
		var row Row
		key := ""
		for _, e := range expressions {
			v, err := evaluate(e.text, table.Columns, rows)
			if err != nil {
				return nil, false
			}
			row = append(row, v)
			key += string(v) + "\x00"
		}
		if !distinct || !seen[key] {
			result.Rows = append(result.Rows, row)
		}
		seen[key] = true
	}
	return result, true
}

// evaluate computes an expression over the rows of a group; nil is NULL.
func evaluate(text string, columns []Column, rows []Row) ([]byte, error) {
	p := &parser{rest: text, columns: columns, rows: rows}
	v, err := p.comparison()
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("replay: %q is left of %q", p.rest, text)
	}
	return v, err
}

// parser computes while it reads.
type parser struct {
	rest    string
	columns []Column
	rows    []Row
}

func (p *parser) take(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	if rest, ok := strings.CutPrefix(p.rest, token); ok {
		p.rest = rest
		return true
	}
	return false
}

func (p *parser) comparison() ([]byte, error) {
	left, err := p.value()
	if err != nil {
		return nil, err
	}
	for _, operator := range []string{"<>", "=", ">"} {
		if !p.take(operator) {
			continue
		}
		right, err := p.value()
		if err != nil || left == nil || right == nil {
			return nil, err
		}
		a, b := string(left), string(right)
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		truth := map[string]bool{"=": strings.EqualFold(a, b), "<>": !strings.EqualFold(a, b), ">": errX == nil && errY == nil && x > y}[operator]
		return boolean(truth), nil
	}
	return left, nil
}

func boolean(b bool) []byte {
	if b {
		return []byte("1")
	}
	return []byte("0")
}

func (p *parser) value() ([]byte, error) {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.take("'") {
		text, rest, ok := strings.Cut(p.rest, "'")
		if !ok {
			return nil, fmt.Errorf("replay: an open quote before %q", p.rest)
		}
		p.rest = rest
		return []byte(text), nil
	}
	n := 0
	for isWord(p.rest, n) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	switch {
	case word == "":
		return nil, fmt.Errorf("replay: no value at %q", p.rest)
	case p.take("("):
		return p.call(strings.ToUpper(word))
	case word[0] >= '0' && word[0] <= '9':
		return []byte(word), nil
	}
	_, at := (&Result{Columns: p.columns}).find(word)
	if at < 0 {
		return nil, fmt.Errorf("replay: no column %s", word)
	}
	return p.rows[0][at], nil
}

// arguments cuts the text up to the closing parenthesis into arguments.
func (p *parser) arguments() ([]string, error) {
	depth, inside := 0, false
	for i := range len(p.rest) {
		switch b := p.rest[i]; {
		case b == '\'':
			inside = !inside
		case inside:
		case b == '(':
			depth++
		case b == ')' && depth > 0:
			depth--
		case b == ')':
			list := selectList(p.rest[:i])
			p.rest = p.rest[i+1:]
			var texts []string
			for _, e := range list {
				texts = append(texts, e.text)
			}
			return texts, nil
		}
	}
	return nil, fmt.Errorf("replay: an open parenthesis before %q", p.rest)
}

func (p *parser) call(function string) ([]byte, error) {
	texts, err := p.arguments()
	if err != nil {
		return nil, err
	}
	switch function {
	case "COUNT":
		return number(uint64(len(p.rows))), nil
	case "SUM":
		sum := 0.0
		for _, row := range p.rows {
			v, err := evaluate(texts[0], p.columns, []Row{row})
			if err != nil {
				return nil, err
			}
			x, _ := strconv.ParseFloat(string(v), 64) // text is 0, as it is for the server
			sum += x
		}
		return strconv.AppendFloat(nil, sum, 'f', -1, 64), nil
	case "CAST":
		texts[0], _, _ = strings.Cut(texts[0], " AS ")
	}
	var args [][]byte
	for _, text := range texts {
		v, err := evaluate(text, p.columns, p.rows)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return apply(function, args)
}

func apply(function string, args [][]byte) ([]byte, error) {
	if function == "COALESCE" {
		for _, a := range args {
			if a != nil {
				return a, nil
			}
		}
		return nil, nil
	}
	for _, a := range args {
		if a == nil {
			return nil, nil // all others give NULL for NULL
		}
	}
	switch function {
	case "CAST":
		return args[0], nil
	case "CONCAT":
		var all []byte
		for _, a := range args {
			all = append(all, a...)
		}
		return append([]byte{}, all...), nil
	case "CHAR_LENGTH":
		return number(uint64(utf8.RuneCount(args[0]))), nil
	case "UNIX_TIMESTAMP":
		at, err := time.Parse(time.DateTime, string(args[0]))
		if err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		return number(uint64(at.Unix())), nil
	case "FIND_IN_SET":
		for i, word := range strings.Split(string(args[1]), ",") {
			if strings.EqualFold(word, string(args[0])) {
				return number(uint64(i + 1)), nil
			}
		}
		return []byte("0"), nil
	case "JSON_VALUE", "JSON_LENGTH":
		return jsonAt(function, args[0], string(args[1])), nil
	}
	return nil, fmt.Errorf("replay: function %s", function)
}

// jsonAt looks a path like $.auth_or[1].plugin up.
func jsonAt(function string, document []byte, path string) []byte {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // a set of rights has 64 bits
	if decoder.Decode(&v) != nil {
		return nil
	}
	for _, step := range strings.FieldsFunc(strings.TrimPrefix(path, "$"), func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch node := v.(type) {
		case map[string]any:
			v = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	switch v := v.(type) {
	case []any:
		if function == "JSON_LENGTH" {
			return number(uint64(len(v)))
		}
	case string:
		return []byte(v)
	case bool:
		return boolean(v)
	case json.Number:
		return []byte(v)
	}
	return nil
}
