package formula

import "strconv"

// Lack says why there is no value. The later ones are the graver ones: of two lacks the graver one is told.
type Lack uint8

const (
	LackNone     Lack = iota // there is a value
	LackNull                 // the server's own NULL, or nothing to work out: x/0, the greatest of no rows
	LackAbsent               // this server does not have it, by design
	LackLearning             // the window is not covered by readings yet
	LackFailed               // it could not be read: a privilege, a timeout, a renamed column, a text for a number
)

func (l Lack) String() string {
	return [...]string{"none", "null", "absent", "learning", "failed"}[min(l, LackFailed)]
}

// Scalar is one value: a number, a text, a truth value, or nothing and why. It is small, comparable and passed
// by value. The zero Scalar has no value and counts as [LackFailed], so that what nobody filled in is never fine.
type Scalar struct {
	num  float64 // 1 and 0 of a truth value
	text string  // the text, or why there is no value
	form Type    // TypeAny: nothing
	lack Lack
}

// Number makes a Scalar of a number; of NaN and ±Inf it makes nothing, with [LackNull].
func Number(v float64) Scalar {
	if v-v != 0 {
		return Scalar{text: "the result is not a number", lack: LackNull}
	}
	return Scalar{num: v, form: TypeNumber}
}

// Text makes a Scalar of a text.
func Text(s string) Scalar { return Scalar{text: s, form: TypeText} }

// Truth makes a Scalar of true or false.
func Truth(v bool) Scalar {
	if v {
		return Scalar{num: 1, form: TypeBool}
	}
	return Scalar{form: TypeBool}
}

// Nothing makes a Scalar without a value. why names the input and the reason, for people: "the account may not read
// mysql.user". [LackNone] is taken for [LackFailed].
func Nothing(lack Lack, why string) Scalar { return Scalar{text: why, lack: lack} }

// Lack gives [LackNone] when there is a value, else why there is none.
func (s Scalar) Lack() Lack {
	switch {
	case s.form != TypeAny:
		return LackNone
	case s.lack == LackNone:
		return LackFailed
	}
	return s.lack
}

// Why gives the reason why there is no value; "" when there is one.
func (s Scalar) Why() string {
	switch {
	case s.form != TypeAny:
		return ""
	case s.text == "":
		return "nothing was read"
	}
	return s.text
}

// Type gives TypeNumber, TypeText or TypeBool, and [TypeAny] when there is no value.
func (s Scalar) Type() Type { return s.form }

// Float gives the number; false when there is none. A truth value is no number.
func (s Scalar) Float() (float64, bool) { return s.num, s.form == TypeNumber }

// Bool gives the truth value; false, false when there is none.
func (s Scalar) Bool() (value, ok bool) { return s.form == TypeBool && s.num == 1, s.form == TypeBool }

// Text gives the text; false when it is none. Texts of monitored servers are hostile: escape them.
func (s Scalar) Text() (string, bool) {
	if s.form != TypeText {
		return "", false
	}
	return s.text, true
}

// String gives the text as it is, a number in its shortest form, "true" or "false", and "" when there is no value.
func (s Scalar) String() string {
	switch s.form {
	case TypeNumber:
		return formatNumber(s.num)
	case TypeText:
		return s.text
	case TypeBool:
		return strconv.FormatBool(s.num == 1)
	}
	return ""
}
