drop table labelled
