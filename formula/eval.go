package formula

// Env feeds one evaluation. The indices count in the lists of the formula: [Formula.Inputs], [Formula.Locals] and
// [Formula.RowSets]. An answer without a value should name what is missing. Eval may ask for the same thing more than
// once, and gets the same answer each time.
type Env interface {
	// Input gives the reading, or what a window function makes of its window.
	Input(f *Formula, i int) Scalar
	// Instances gives an input of all its instances, for an input with Each set: one that stands in sum(…) and its like.
	// A name that has no instances gives one without a name. The lack counts when there is no list, not when it is empty.
	Instances(f *Formula, i int) ([]Instance, Scalar)
	// Local gives a let, a limit or a fact.
	Local(f *Formula, i int) Scalar
	// RowSet gives the rows of a set, or why they are not there; the Scalar counts only when it has a lack, so it is
	// a Truth(true) beside rows.
	RowSet(f *Formula, i int) ([]Row, Scalar)
	// It gives the row that a rule is about. Nil where there is none; then every field of it lacks its value.
	It() Row
}

// Row is one row of a set.
type Row interface {
	// Field gives a field by its place among the scope's fields of this set (or of it) in the order of [Fields].
	Field(i int) Scalar
}

// Instance is an input's value of one instance.
type Instance struct {
	Name  string // "sda"
	Value Scalar
}

// Eval evaluates the formula.
func (f *Formula) Eval(env Env) Scalar { return Nothing(LackFailed, "not ready") }

// ExplainEval writes the formula with the value behind each name, and behind each function over rows.
func (f *Formula) ExplainEval(env Env) string { return f.text }
