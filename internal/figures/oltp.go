package figures

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"monolith"
)

// A Load says how busy a made-up server is.
type Load struct {
	Title        string
	Transactions float64 // a second, on average over a day
	Moving       float64 // the share of counters that ever move
}

// The servers that are made up: one where most of what can move does, and one like most servers are.
var (
	Busy   = Load{Title: "busy OLTP server", Transactions: 2000, Moving: 0.6}
	Steady = Load{Title: "made-up server", Transactions: 100, Moving: 0.21}
)

// OLTP makes a trace up: a day's load that comes and goes, with noise, behind counters and gauges of these names. What a
// name does is told from the name alone, so that the trace is the same whichever others there are.
func OLTP(names []string, load Load) *Trace {
	t := &Trace{Title: load.Title, Names: names}
	t.polls = func(yield func([]monolith.Num) bool) {
		rng := rand.New(rand.NewPCG(5, 6))
		values := make([]value, len(names))
		for i, name := range names {
			values[i] = newValue(name, load)
		}
		for i := 0; ; i++ {
			const each = 10 // seconds
			wave := 1 + 0.6*math.Sin(2*math.Pi*float64(i)*each/86400)
			transactions := math.Round(load.Transactions * each * wave * (1 + 0.05*rng.NormFloat64()))
			nums := make([]monolith.Num, len(values))
			for j := range values {
				nums[j] = values[j].next(rng, max(0, transactions))
			}
			if !yield(nums) {
				return
			}
		}
	}
	t.findMoving()
	return t
}

// value is one status value of a made-up server.
type value struct {
	behaviour behaviour
	share     float64 // of it for each transaction
	now       float64
}

type behaviour int

const (
	constant behaviour = iota
	exact              // a whole number for each transaction: Com_begin, Handler_commit
	noisy              // so many on average: rows read, bytes sent
	rare               // now and then one: Com_create_table, Aborted_clients
	level              // a gauge that goes up and down: Threads_running, dirty pages
)

func newValue(name string, load Load) value {
	h := fnv.New64a()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(h.Sum64(), 7))
	v := value{now: float64(rng.IntN(4) * rng.IntN(2000)), share: math.Exp(rng.NormFloat64() * 2)}
	if rng.Float64() >= load.Moving {
		return v
	}
	switch kind := rng.Float64(); {
	case monolith.KindOf(name) != monolith.Counter:
		v.behaviour = level
		v.share = 10 + 1000*rng.Float64()*rng.Float64()
	case kind < 0.25:
		v.behaviour, v.share = exact, float64(1+rng.IntN(10))
	case kind < 0.85:
		v.behaviour = noisy
	default:
		v.behaviour, v.share = rare, rng.Float64()/20
	}
	return v
}

// next gives the value after so many transactions more.
func (v *value) next(rng *rand.Rand, transactions float64) monolith.Num {
	switch v.behaviour {
	case exact:
		v.now += transactions * v.share
	case noisy: // the sum of many small numbers
		mean := transactions * v.share
		v.now += max(0, math.Round(mean+3*math.Sqrt(mean)*rng.NormFloat64()))
	case rare:
		if rng.Float64() < v.share {
			v.now += float64(1 + rng.IntN(3))
		}
	case level:
		return monolith.Uint(uint64(max(0, math.Round(v.share*(1+0.2*rng.NormFloat64())))))
	}
	return monolith.Uint(uint64(v.now))
}
