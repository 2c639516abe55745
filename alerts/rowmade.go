package alerts

import (
	"reflect"
	"slices"

	"monolith"
	"monolith/formula"
)

// madeField is a field that is worked out from the row.
type madeField struct {
	name string
	kind formula.Type
	get  func(*row) formula.Scalar
}

// givenField is a field that a test gives in the place of what would be worked out.
type givenField struct {
	set   string
	index int
	field string
}

// ownRowSets are lists that the engine makes itself.
func ownRowSets() []*rowSet {
	return []*rowSet{
		newRowSet("variable_changes", reflect.TypeFor[variableChange](), func(ev *evaluator) (reflect.Value, bool) {
			list := slices.SortedFunc(slices.Values(ev.srv.varChanges), lastOf)
			if list == nil {
				list = []variableChange{}
			}
			return addressable(list), ev.srv.answered("variables", ev.at)
		}),
		newRowSet("cnf_differences", reflect.TypeFor[cnfDifference](), func(ev *evaluator) (reflect.Value, bool) {
			return addressable(ev.srv.cnf), ev.srv.cnf != nil
		}),
	}
}

// addressable gives a list whose elements can be pointed at.
func addressable[T any](list []T) reflect.Value { return reflect.ValueOf(&list).Elem() }

// madeFields gives the fields that are worked out for the rows of a list.
func madeFields(set string) []madeField {
	switch set {
	case "replicas":
		return replicaFields()
	case "accounts":
		return []madeField{{"replicates", formula.TypeBool, func(r *row) formula.Scalar {
			a := r.value.Addr().Interface().(*monolith.Account)
			return formula.Truth(slices.Contains(a.Privileges, "REPLICATION SLAVE") || slices.Contains(a.RolePrivileges, "REPLICATION SLAVE"))
		}}}
	case "variable_changes":
		return []madeField{{"age", formula.TypeNumber, func(r *row) formula.Scalar {
			return formula.Number(r.ev.at.Sub(r.value.Addr().Interface().(*variableChange).At).Seconds())
		}}}
	}
	return nil
}

func replicaFields() []madeField {
	of := func(get func(*row, *monolith.Replica) formula.Scalar) func(*row) formula.Scalar {
		return func(r *row) formula.Scalar {
			for _, name := range r.missing {
				if name == "io_errno" || name == "io_error" || name == "sql_errno" || name == "sql_error" {
					return formula.Nothing(formula.LackFailed, "the server did not send the column of "+name)
				}
			}
			return get(r, r.value.Addr().Interface().(*monolith.Replica))
		}
	}
	explained := func(get func(monolith.ReplicationError) string) func(*row) formula.Scalar {
		return of(func(r *row, rep *monolith.Replica) formula.Scalar {
			id := r.ev.state.Identity
			newWords := id.Flavour.IsMySQL() && id.Version.AtLeast(8, 0, 22) || id.Flavour.IsMariaDB() && id.Version.AtLeast(10, 5, 1)
			return formula.Text(get(monolith.ExplainReplicationError(rep, newWords)))
		})
	}
	return []madeField{
		{"error_kind", formula.TypeText, explained(func(e monolith.ReplicationError) string { return e.Kind })},
		{"error_means", formula.TypeText, explained(func(e monolith.ReplicationError) string { return e.Means })},
		{"error_cure", formula.TypeText, explained(func(e monolith.ReplicationError) string { return e.Cure })},
		{"error_file", formula.TypeText, explained(func(e monolith.ReplicationError) string { return e.File })},
		{"error_next", formula.TypeText, explained(func(e monolith.ReplicationError) string { return e.Next })},
		{"error_position", formula.TypeNumber, of(func(r *row, rep *monolith.Replica) formula.Scalar {
			return formula.Number(float64(monolith.ExplainReplicationError(rep, true).Position))
		})},
		{"error_end", formula.TypeNumber, of(func(r *row, rep *monolith.Replica) formula.Scalar {
			return formula.Number(float64(monolith.ExplainReplicationError(rep, true).End))
		})},
		{"gtid_gap", formula.TypeText, func(r *row) formula.Scalar {
			set, lack := r.ev.executed()
			if lack.Lack() != formula.LackNone {
				return lack
			}
			return formula.Text(set.Gaps().String())
		}},
		{"errant", formula.TypeText, func(r *row) formula.Scalar {
			set, lack := r.ev.errant(r.value.Addr().Interface().(*monolith.Replica))
			if lack.Lack() != formula.LackNone {
				return lack
			}
			return formula.Text(set.String())
		}},
		{"errant_count", formula.TypeNumber, func(r *row) formula.Scalar {
			set, lack := r.ev.errant(r.value.Addr().Interface().(*monolith.Replica))
			if lack.Lack() != formula.LackNone {
				return lack
			}
			return formula.Number(float64(set.Count()))
		}},
	}
}

// executed gives the transactions that this server has executed.
func (ev *evaluator) executed() (monolith.GTIDSet, formula.Scalar) {
	if ev.state.GTIDs == nil {
		return monolith.GTIDSet{}, ev.noRows("gtids")
	}
	if p, bad := ev.srv.trouble("gtids"); bad && p.Kind != monolith.ProblemUnsupported {
		return monolith.GTIDSet{}, formula.Nothing(formula.LackFailed, "the GTID sets could not be read: "+because(&p))
	}
	return parseGTIDs(ev.state.GTIDs.Executed)
}

func parseGTIDs(text string) (monolith.GTIDSet, formula.Scalar) {
	set, ok := monolith.ParseGTIDSet(text)
	if !ok {
		return set, formula.Nothing(formula.LackFailed, "the executed GTID set could not be understood")
	}
	return set, found
}

// errant gives what this replica executed and its source did not. The source's set must be read after the replica's:
// what the replica executed was executed there before.
func (ev *evaluator) errant(rep *monolith.Replica) (monolith.GTIDSet, formula.Scalar) {
	if _, lack := ev.executed(); lack.Lack() != formula.LackNone {
		return monolith.GTIDSet{}, lack
	}
	source, ok := ev.engine.peerOf(rep)
	if !ok || source.gtids == nil {
		return monolith.GTIDSet{}, formula.Nothing(formula.LackAbsent, "the source is not watched here, or has no GTIDs")
	}
	for _, own := range ev.srv.gtids {
		if own == nil || source.gtids.Taken.Before(own.Taken) {
			continue
		}
		mine, lack := parseGTIDs(own.Executed)
		if lack.Lack() != formula.LackNone {
			return mine, lack
		}
		theirs, lack := parseGTIDs(source.gtids.Executed)
		if lack.Lack() != formula.LackNone {
			return theirs, lack
		}
		return mine.Minus(theirs), found
	}
	return monolith.GTIDSet{}, formula.Nothing(formula.LackLearning, "the source's GTID set was not read after the replica's yet")
}
