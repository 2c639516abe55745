package poller

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"monolith"
)

const (
	maxLockRows = 100  // waiting threads that are kept
	maxBlockers = 10   // of one waiting thread
	maxLockPair = 2000 // pairs of waiter and holder that are read
)

// metadataStates are the beginnings of states of a thread that waits for a lock on a definition, or for one on everything.
var metadataStates = []string{"waiting for backup lock", "waiting for global read lock", "waiting for commit lock"}

func waitsForMetadata(p *monolith.Process) bool {
	state := strings.ToLower(p.State)
	return strings.HasPrefix(state, "waiting for") && strings.Contains(state, "metadata lock") ||
		slices.ContainsFunc(metadataStates, func(s string) bool { return strings.HasPrefix(state, s) })
}

// metadataLocks picks the waiting threads out of a process list and asks who holds what they wait for, where the server
// tells. While nobody waits no statement is sent.
func metadataLocks(ctx context.Context, g *Gather, rows []monolith.Process) ([]monolith.MetadataLock, error) {
	locks := []monolith.MetadataLock{}
	threads := map[uint64]*monolith.Process{}
	for i := range rows {
		p := &rows[i]
		threads[p.ID] = p
		if p.Own || !waitsForMetadata(p) {
			continue
		}
		locks = append(locks, monolith.MetadataLock{
			Thread: p.ID, User: p.User, Host: p.Host, DB: p.DB, Seconds: p.Seconds, State: p.State,
			Statement: statementText([]byte(p.Info), g.Server.KeepTexts),
		})
	}
	slices.SortFunc(locks, func(a, b monolith.MetadataLock) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Thread, b.Thread))
	})
	if len(locks) > maxLockRows {
		locks = slices.Clone(locks[:maxLockRows])
	}
	statement := lockHolders(g)
	if len(locks) == 0 || statement == "" {
		return locks, nil
	}
	waiting := map[uint64]int{} // thread → place in locks
	for i := range locks {
		waiting[locks[i].Thread] = i
	}
	err := g.Session.Query(ctx, statement, func(row Row) error {
		waiter, _ := row.Int("waiter")
		holder, _ := row.Int("holder")
		i, ok := waiting[uint64(waiter)]
		if !ok || holder == 0 || waiter == holder {
			return nil
		}
		l := &locks[i]
		l.Schema, l.Table = cut(printable(first(row.Text("object_schema"))), 128), cut(printable(first(row.Text("object_name"))), 128)
		if id := uint64(holder); len(l.BlockedBy) < maxBlockers && !slices.Contains(l.BlockedBy, id) {
			l.BlockedBy = append(l.BlockedBy, id)
		}
		return nil
	})
	if err := noteRefusal(g, err, "who holds metadata locks can't be read", grantPerformanceSchema(g.Identity, g.Account)); err != nil {
		return nil, err
	}
	for i := range locks {
		nameBlocker(&locks[i], threads, waiting, g.Server.KeepTexts)
	}
	return locks, nil
}

// nameBlocker puts the holders that do not wait themselves first, the one that has been at it longest at their head, and says who
// it is.
func nameBlocker(l *monolith.MetadataLock, threads map[uint64]*monolith.Process, waiting map[uint64]int, keep bool) {
	rank := func(id uint64) (waits int, seconds int64) {
		if _, ok := waiting[id]; ok {
			waits = 1
		}
		if p := threads[id]; p != nil {
			seconds = p.Seconds
		}
		return waits, seconds
	}
	slices.SortFunc(l.BlockedBy, func(a, b uint64) int {
		w1, s1 := rank(a)
		w2, s2 := rank(b)
		return cmp.Or(w1-w2, cmp.Compare(s2, s1), cmp.Compare(a, b))
	})
	if len(l.BlockedBy) == 0 {
		return
	}
	if p := threads[l.BlockedBy[0]]; p != nil {
		l.BlockerUser, l.BlockerHost, l.BlockerCommand, l.BlockerSeconds = p.User, p.Host, p.Command, p.Seconds
		l.BlockerStatement = statementText([]byte(p.Info), keep)
	}
}

// lockHolders gives the statement that pairs waiting threads with those that hold a lock on the same thing, or "". Whether a held lock
// is of a kind that really stands in the way is not looked at: the first of a queue is held up by it, the others by the
// queue. The table is empty unless the instrument wait/lock/metadata/sql/mdl is on, as it is by default since MySQL 8.0.
func lockHolders(g *Gather) string {
	if !has(g.Identity, since{mysql: v(5, 7, 3), mariadb: v(10, 5, 2)}) || g.variable("performance_schema") != "ON" {
		return ""
	}
	return "SELECT wt.PROCESSLIST_ID AS waiter, ht.PROCESSLIST_ID AS holder, w.OBJECT_SCHEMA AS object_schema, w.OBJECT_NAME AS object_name" +
		" FROM performance_schema.metadata_locks w JOIN performance_schema.metadata_locks h ON h.OBJECT_TYPE = w.OBJECT_TYPE" +
		" AND h.OBJECT_SCHEMA <=> w.OBJECT_SCHEMA AND h.OBJECT_NAME <=> w.OBJECT_NAME AND h.LOCK_STATUS = 'GRANTED'" +
		" AND h.OWNER_THREAD_ID <> w.OWNER_THREAD_ID" +
		" JOIN performance_schema.threads wt ON wt.THREAD_ID = w.OWNER_THREAD_ID JOIN performance_schema.threads ht ON ht.THREAD_ID = h.OWNER_THREAD_ID" +
		" WHERE w.LOCK_STATUS = 'PENDING' LIMIT " + itoa(maxLockPair)
}
