package poller

import (
	"monolith"
	"monolith/poller/host"
)

// Collectors gives all collectors in the order in which they run: the status comes first, since the
// others compare with it.
func Collectors() []*Collector {
	all := []*Collector{
		statusCollector(),
		variablesCollector(),
		replicationCollector(),
		groupCollector(),
		innodbCollector(),
		hostCollector(host.NewLocal()),
		processesCollector(),
		memoryCollector(),
		positionCollector(),
		transactionsCollector(),
		deadlockCollector(),
		hostCacheCollector(),
		membersCollector(),
		auroraCollector(),
		gtidsCollector(),
		accountsCollector(),
		databasesCollector(),
		binlogsCollector(),
		certificateCollector(),
		pluginsCollector(),
		persistedCollector(),
		pfsCollector(),
		digestsCollector(),
		sizesCollector(),
		keysCollector(),
		originsCollector(),
	}
	shared := newWords()
	for _, c := range all {
		c.layouts, c.words = newLayouts(), shared
		c.Schedule = monolith.CollectorSchedule(c.Name)
	}
	return all
}
