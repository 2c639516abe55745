package formula

// Name is one entry of the name table, for completion.
type Name struct {
	Name string // "status.Questions"
	Kind string // "counter", "gauge", "untyped", "high-water", "text"
}

// Names lists the known names of a namespace, sorted, with the namespace in front.
func Names(namespace string) []string { return nil }

// Complete lists known names that begin with prefix or hold it, the former first, at most limit.
func Complete(prefix string, limit int) []Name { return nil }
