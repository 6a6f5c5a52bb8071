//! A ledger in which every entry is balanced.
//!
//! Amounts are in cents.

use std::collections::BTreeMap;
use std::fmt;

mod storage;

pub const LIMIT: i64 = 1_000_000;
static NAMES: &[&str] = &["cash", "bank"];

pub type Cents = i64;

/// One side of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Posting {
    pub account: String,
    pub amount: Cents,
}

/// What can go wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum LedgerError {
    /// The postings do not add up to nothing.
    Unbalanced(Cents),
    TooLarge { amount: Cents },
}

pub trait Report {
    const TITLE: &'static str;

    fn lines(&self) -> Vec<String>;

    /// The report as one text.
    fn text(&self) -> String {
        format!("{}\n{}", Self::TITLE, self.lines().join("\n"))
    }
}

macro_rules! posting {
    ($account:expr, $amount:expr) => {
        Posting { account: $account.to_string(), amount: $amount }
    };
}

#[derive(Default)]
pub struct Ledger<'a> {
    title: &'a str,
    balances: BTreeMap<String, Cents>,
}

impl<'a> Ledger<'a> {
    /// An empty ledger.
    #[must_use]
    pub fn new(title: &'a str) -> Self {
        Self { title, balances: BTreeMap::new() }
    }

    /// Enters postings that belong together, all or none of them.
    ///
    /// # Errors
    ///
    /// `Unbalanced` when they do not add up to nothing, `TooLarge` when one of them is above the limit. The ledger is
    /// as it was before in both cases, since nothing is entered before everything has been looked at.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut ledger = Ledger::new("books");
    /// ledger.enter(&[posting!("cash", 5), posting!("bank", -5)]).unwrap();
    /// ```
    pub fn enter(&mut self, postings: &[Posting]) -> Result<(), LedgerError> {
        let sum: Cents = postings.iter().map(|posting| posting.amount).sum();
        if sum != 0 {
            return Err(LedgerError::Unbalanced(sum));
        }
        if let Some(large) = postings.iter().find(|posting| posting.amount.abs() > LIMIT) {
            return Err(LedgerError::TooLarge { amount: large.amount });
        }
        for posting in postings {
            let balance = self.balances.entry(posting.account.clone()).or_insert(0);
            *balance += posting.amount;
            if *balance == 0 && !NAMES.contains(&posting.account.as_str()) {
                self.balances.remove(&posting.account);
            }
        }
        log::debug!("{}: entered {} postings, {} accounts are open", self.title, postings.len(), self.balances.len());
        Ok(())
    }
}

impl Report for Ledger<'_> {
    const TITLE: &'static str = "Balances";

    fn lines(&self) -> Vec<String> {
        self.balances.iter().map(|(name, cents)| format!("{name}: {cents}")).collect()
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbalanced(sum) => write!(f, "off by {sum}"),
            Self::TooLarge { amount } => write!(f, "{amount} is too large"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger<'static> {
        Ledger::new("test")
    }

    #[test]
    fn unbalanced_postings_are_refused() {
        assert!(ledger().enter(&[posting!("cash", 5)]).is_err());
    }

    #[tokio::test]
    async fn balanced_postings_are_entered() {
        ledger().enter(&[posting!("cash", 5), posting!("bank", -5)]).unwrap();
    }
}
